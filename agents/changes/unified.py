"""Changes as text: a unified diff that `git apply` takes, cut where it grows too long."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable, Iterator

from agents.changes.compare import Change, Version, file_lines, text_of
from agents.changes.paths import path_bytes
from agents.changes.store import Store, StoreBroken
from agents.text.diff import aligned

CONTEXT = 3  # lines around a change
LONGEST = 60_000  # characters of one file's diff
MOST_READ = 40_000_000  # bytes of both sides that are compared for one text
NOTHING = "/dev/null"
# What stands in the place of hunks where there are none.
BINARY, NOT_RECORDED, NOT_KEPT = "Binary files", "Not recorded", "What it held is not kept any more"
NO_HUNKS = (BINARY, NOT_RECORDED, NOT_KEPT)


def diff_text(store: Store, changes: Iterable[Change], longest: int) -> str:
    """All of them, one after the other; of what does not fit only the names."""
    parts, left, named, work = [], longest, [], MOST_READ
    for change in changes:
        work -= sum(side.size for side in (change.old, change.new) if side)
        text = file_diff(store, change) if work > 0 and left > 0 else None
        if text is None or len(text) > min(left, max(LONGEST, longest // 2)):
            named.append(f"{change.path}: {in_words(change)}")
            continue
        parts.append(text)
        left -= len(text)
    if named:
        parts.append("\n".join(["Left out here, for their length:", *named]) + "\n")
    return "".join(parts)


def patch_text(store: Store, changes: Iterable[Change], longest: int) -> str:
    """All of them as `git apply` takes them. What it could not apply, or what does not fit, is
    named in lines before the first, which git passes over."""
    parts, left, named, work = [], longest, [], MOST_READ
    for change in changes:
        work -= sum(side.size for side in (change.old, change.new) if side)
        text = file_diff(store, change) if work > 0 and left > 0 else None
        if text is None or len(text) > left:
            named.append(f"# {change.path}: {in_words(change)}, left out for its length")
        elif text.splitlines()[-1].startswith(NO_HUNKS):
            named.append(f"# {change.path}: {in_words(change)}, not in this patch")
        else:
            parts.append(text)
            left -= len(text)
    return "".join([*(f"{line}\n" for line in named), *parts])


def in_words(change: Change) -> str:
    """For a model, a log, a command: what became of it."""
    words = {
        "deleted": "removed",
        "renamed": f"renamed, was {change.was}",
        "not_recorded": change.why,
    }
    what = words.get(change.kind, change.kind)
    lines = [f"+{change.added}"] if change.added else []
    lines += [f"-{change.removed}"] if change.removed else []
    binary = ["binary"] if change.is_binary else []
    return ", ".join([what, *binary, " ".join(lines)]).rstrip(", ")


def file_diff(store: Store, change: Change) -> str:
    """One file's; what is no text, or cannot be read any more, is said in one line."""
    was = quoted(change.was or change.path)
    now = quoted(change.path)
    head = [f"diff --git a/{was} b/{now}", *header(change)]
    if change.kind == "not_recorded":
        return "\n".join([*head, f"{NOT_RECORDED}: {change.why}", ""])
    try:
        before, after = (sided(store, side) for side in (change.old, change.new))
    except StoreBroken:
        return "\n".join([*head, f"{NOT_KEPT}.", ""])
    if change.old and change.new and change.old.oid == change.new.oid:
        return "\n".join([*head, ""])
    if before is None or after is None:
        return "\n".join([*head, f"{BINARY} a/{was} and b/{now} differ", ""])
    body = list(hunks(before, after))
    if body:
        head += [f"--- {f'a/{was}' if change.old else NOTHING}"]
        head += [f"+++ {f'b/{now}' if change.new else NOTHING}"]
    return "\n".join([*head, *body, ""])


def header(change: Change) -> Iterator[str]:
    old, new = change.old, change.new
    if old is None and new is not None:
        yield f"new file mode {mode_of(new)}"
    elif new is None and old is not None:
        yield f"deleted file mode {mode_of(old)}"
    elif old and new and mode_of(old) != mode_of(new):
        yield f"old mode {mode_of(old)}"
        yield f"new mode {mode_of(new)}"
    if change.kind == "renamed":
        yield f"rename from {quoted(change.was)}"
        yield f"rename to {quoted(change.path)}"


def mode_of(side: Version) -> str:
    """As git knows it: a link, or a file that may be run or not."""
    if side.is_link:
        return "120000"
    return "100755" if side.mode & stat.S_IXUSR else "100644"


def quoted(path: str) -> str:
    """As git writes names in a diff."""
    raw = path_bytes(path)
    if all(32 <= sign < 127 and sign not in b'"\\' for sign in raw):
        return raw.decode()
    try:
        text = raw.decode()
    except UnicodeDecodeError:
        text = ""
    if text.isprintable() and text and not set(text) & {'"', "\\"}:
        return text
    signs = (chr(s) if 32 <= s < 127 and s not in b'"\\' else f"\\{s:03o}" for s in raw)
    return f'"{"".join(signs)}"'


def sided(store: Store, side: Version | None) -> str | None:
    return (
        os.fsdecode(store.read(side.entry.oid)) if side and side.is_link else text_of(store, side)
    )


def hunks(before: str, after: str) -> Iterator[str]:
    """The lines of all hunks, each behind its head."""
    if before == after:
        return
    old, new = file_lines(before), file_lines(after)
    pairs = [*aligned(old, new), (len(old), len(new))]
    i = j = 0
    changed = []  # places: from, until, in both
    for at, to in pairs:
        if at > i or to > j:
            changed.append((i, at, j, to))
        i, j = at + 1, to + 1
    for group in grouped(changed):
        yield from hunk(old, new, group)


Span = tuple[int, int, int, int]


def grouped(spans: list[Span]) -> Iterator[list[Span]]:
    """Changes that share the lines around them stand in one hunk."""
    group: list[Span] = []
    for span in spans:
        if group and span[0] - group[-1][1] > 2 * CONTEXT:
            yield group
            group = []
        group.append(span)
    if group:
        yield group


def hunk(old: list[str], new: list[str], group: list[Span]) -> Iterator[str]:
    begin = max(group[0][0] - CONTEXT, 0)
    end = min(group[-1][1] + CONTEXT, len(old))
    first_new = group[0][2] - (group[0][0] - begin)
    last_new = group[-1][3] + (end - group[-1][1])
    sides = (begin, end - begin), (first_new, last_new - first_new)
    one, other = (f"{start + bool(count)},{count}" for start, count in sides)
    yield f"@@ -{one} +{other} @@"
    at = begin
    for i, until, j, to in group:
        yield from (f" {line}" for line in old[at:i])
        yield from (f"-{line}" for line in old[i:until])
        yield from (f"+{line}" for line in new[j:to])
        at = until
    yield from (f" {line}" for line in old[at:end])
