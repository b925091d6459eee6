"""What a call did to a file, as a diff in the place of its arguments and result."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from django.utils.formats import number_format
from django.utils.translation import gettext, ngettext

from agents.hidden_characters import count_hidden
from agents.models import FileChange, ToolCall
from console.changes.lines import Block, changed_lines, near_changes, without_windows_ends
from console.language import cached, grouped

LONG, HEAD = 400, 200  # lines; of more than the first, the second are on the page at first
MOST_CHARACTERS = 20_000  # that are on the page at first
MOST_HIDDEN = 5_000  # each is drawn as a box


@dataclass(frozen=True)
class FileDiff:
    """Changes with the lines around them; `lines` is how many there are of these, with those that
    are not on the page. Without blocks `note` says why."""

    blocks: Sequence[Block] = ()
    lines: int = 0
    added: int = 0
    removed: int = 0
    note: str = ""
    is_cut: bool = False

    @property
    def sum(self) -> str:
        """What changed in words."""
        if not self.blocks:
            return ""
        words = ngettext(
            "{n} line added, {removed} removed", "{n} lines added, {removed} removed", self.added
        )
        if not self.removed:
            words = ngettext("{n} line added", "{n} lines added", self.added)
        if not self.added:
            words = ngettext("{removed} line removed", "{removed} lines removed", self.removed)
        return words.format(n=grouped(self.added), removed=grouped(self.removed))

    @property
    def signs(self) -> str:
        return change_signs(self.added, self.removed)


def change_signs(added: int, removed: int) -> str:
    """+42 −3; a side that is zero is left out."""
    return " ".join([*([f"+{added}"] if added else []), *([f"−{removed}"] if removed else [])])


def diff_of(call: ToolCall, *, is_whole: bool = False) -> FileDiff | None:
    """Nothing for a call that changed no file, or where it is not known what it changed."""
    change = call.change
    if change is None:
        return None
    if change.left_out:
        return FileDiff(note=why_no_lines(change))
    if count_hidden(change.old) + count_hidden(change.new) > MOST_HIDDEN:
        return FileDiff(
            note=gettext("It holds too many hidden characters to be shown line by line.")
        )
    diff = drawn_change(change.old, change.new, change.line)
    note = "" if diff.blocks else why_no_lines(change)
    return diff if is_whole and diff.blocks else replace(shortened(diff), note=note)


def why_no_lines(change: FileChange) -> str:
    was, now = readable_size(change.old_size), readable_size(change.new_size)
    if change.left_out == FileChange.LeftOut.BINARY:
        words = gettext("Binary file, {now}, was {was}.")
        if change.is_new:
            words = gettext("Binary file, {now}, new.")
    elif change.left_out == FileChange.LeftOut.TOO_LONG:
        words = gettext("What changed is too long to be kept line by line: {now}, was {was}.")
        if change.is_new:
            words = gettext("The new file is too long to be kept line by line: {now}.")
    elif change.left_out:
        words = gettext("What was there before could not be read. The file has {now} now.")
    elif change.is_new:
        return gettext("A new file, empty.")
    else:
        return gettext("The file was the same already.")
    return words.format(now=now, was=was)


def readable_size(size: int) -> str:
    if size < 1000:
        return ngettext("{n} byte", "{n} bytes", size).format(n=size)
    if size < 999_500:
        return gettext("{n} kB").format(n=number_format(f"{size / 1000:.3g}"))
    return gettext("{n} MB").format(n=number_format(f"{size / 1_000_000:.3g}"))


@cached(64)
def drawn_change(old: str, new: str, first: int) -> FileDiff:
    """All of it."""
    old, new = without_windows_ends(old, new)
    before, after = (text.split("\n") if text else [] for text in (old, new))
    rows = list(changed_lines(before, after, first))
    kinds = [row.kind for row in rows]
    added, removed = kinds.count("new"), kinds.count("gone")
    if not added and not removed:
        return FileDiff()
    blocks = tuple(near_changes(rows))
    lines = sum(len(block.lines) for block in blocks if not block.is_folded)
    return FileDiff(blocks, lines, added, removed)


def shortened(diff: FileDiff) -> FileDiff:
    """The same with what a page shows at first."""
    size = sum(len(line.html) for block in diff.blocks for line in block.lines)
    if diff.lines <= LONG and size <= MOST_CHARACTERS:
        return diff
    return replace(diff, blocks=tuple(first_blocks(diff.blocks)), is_cut=True)


def first_blocks(blocks: Sequence[Block]) -> Iterator[Block]:
    """Those that fit, the last one in part."""
    lines, characters = HEAD, MOST_CHARACTERS
    for block in blocks:
        fitting = []
        for line in block.lines:
            characters -= len(line.html)
            lines -= not block.is_folded
            if lines < 0 or characters < 0:
                break
            fitting.append(line)
        if len(fitting) == len(block.lines):
            yield block
        else:
            if fitting and not block.is_folded:
                yield Block(fitting)
            return
