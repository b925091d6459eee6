"""Changes as text: a unified diff that `git apply` takes, cut where it grows too long."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable, Iterator
from dataclasses import replace

from agents.changes.compare import Change, Version, text_of
from agents.changes.store import Store, StoreBroken
from agents.text.diff import Alignment, file_lines
from agents.tools.paths import path_bytes

CONTEXT = 3  # lines around a change
LONGEST = 60_000  # characters of one file's diff
MOST_READ = 40_000_000  # bytes of both sides that are compared for one text


def diff_text(store: Store, changes: Iterable[Change], longest: int) -> str:
    """All of them, one after the other; of what does not fit only the names."""
    parts, named = [], []
    for change, text, _ in fitting(store, changes, longest, max(LONGEST, longest // 2)):
        if text:
            parts.append(text)
        else:
            named.append(f"{change.path}: {in_words(change)}\n")
    return "".join([*parts, *(["Left out here, for their length:\n", *named] if named else [])])


def patch_text(store: Store, changes: Iterable[Change], longest: int) -> str:
    """All of them as `git apply` takes them. What it could not apply, or what does not fit, is
    named in lines before the first, which git passes over."""
    parts, named = [], []
    for change, text, is_whole in fitting(store, changes, longest, longest):
        if is_whole:
            parts.append(text)
        else:
            why = "not in this patch" if text else "left out for its length"
            named.append(f"# {change.path}: {in_words(change)}, {why}\n")
    return "".join([*named, *parts])


def fitting(
    store: Store, changes: Iterable[Change], longest: int, most: int
) -> Iterator[tuple[Change, str, bool]]:
    """Each with its diff, which has at most `most` characters; nothing once all have `longest`."""
    left, work = longest, MOST_READ
    for change in changes:
        work -= sum(side.size for side in (change.old, change.new) if side)
        text, is_whole = file_diff(store, change) if work > 0 and left > 0 else ("", False)
        if len(text) > min(left, most):
            text, is_whole = "", False
        left -= len(text)
        yield change, text, is_whole


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


def file_diff(store: Store, change: Change) -> tuple[str, bool]:
    """One file's, and whether git can apply it: what is no text, or cannot be read any more, is
    said in one line. What became a link, or was one, is a file that went and one that came."""
    if change.old and change.new and change.old.is_link != change.new.is_link:
        gone = replace(change, path=change.was or change.path, was="", kind="deleted", new=None)
        came = replace(change, was="", kind="added", old=None)
        texts, are_whole = zip(*(file_diff(store, each) for each in (gone, came)), strict=True)
        return "".join(texts), all(are_whole)
    was, now = quoted(change.was or change.path, "a/"), quoted(change.path, "b/")
    body, is_whole = lines_of(store, change, was, now)
    return "\n".join([f"diff --git {was} {now}", *header(change), *body, ""]), is_whole


def lines_of(store: Store, change: Change, was: str, now: str) -> tuple[list[str], bool]:
    if change.kind == "not_recorded":
        return [f"Not recorded: {change.why}"], False
    try:
        before, after = (sided(store, side) for side in (change.old, change.new))
    except StoreBroken:
        return ["What it held is not kept any more."], False
    if change.old and change.new and change.old.oid == change.new.oid:
        return [], True
    if before is None or after is None:
        return [f"Binary files {was} and {now} differ"], False
    body = list(hunks(before, after))
    if body:
        body[:0] = [
            f"--- {was if change.old else '/dev/null'}",
            f"+++ {now if change.new else '/dev/null'}",
        ]
    return body, True


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


def quoted(path: str, prefix: str = "") -> str:
    """As git writes names in a diff."""
    raw = path_bytes(path)
    try:
        text = raw.decode()
    except UnicodeDecodeError:
        text = ""
    if text.isprintable() and text and not set(text) & {'"', "\\"}:
        return prefix + text
    signs = (chr(s) if 32 <= s < 127 and s not in b'"\\' else f"\\{s:03o}" for s in raw)
    return f'"{prefix}{"".join(signs)}"'


def sided(store: Store, side: Version | None) -> str | None:
    return (
        os.fsdecode(store.read(side.entry.oid)) if side and side.is_link else text_of(store, side)
    )


def hunks(before: str, after: str) -> Iterator[str]:
    """The lines of all hunks, each behind its head."""
    old, new = file_lines(before), file_lines(after)
    for group in Alignment(old, new).get_grouped_opcodes(CONTEXT):
        (_, begin, _, new_begin, _), (_, _, end, _, new_end) = group[0], group[-1]
        sides = (begin, end - begin), (new_begin, new_end - new_begin)
        one, other = (f"{start + bool(count)},{count}" for start, count in sides)
        yield f"@@ -{one} +{other} @@"
        for tag, i, until, j, to in group:
            if tag == "equal":
                yield from (f" {line}" for line in old[i:until])
            else:
                yield from (f"-{line}" for line in old[i:until])
                yield from (f"+{line}" for line in new[j:to])
