"""The versions of a plan as the drawer shows them: the list, and two of them compared."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import groupby

from django.db.models import Q, QuerySet
from django.utils.translation import gettext, gettext_lazy, ngettext

from agents.actors import AGENT, actor_of
from agents.statements import prepared
from agents.text.diff import Op, TextRun, replace, words
from console.language import grouped
from console.status_labels import name_for
from plans.comments import answered_between
from plans.diff import Change, CheckDiff, PlanDiff, Rewording, SubtaskDiff, diff, diff_checks
from plans.models import SUBTASK_LABELS, Plan, PlanVersion, SubtaskComment

# Of a plan's fields and a subtask's.
LABELS = {"title": "Title", "content": "Description", **SUBTASK_LABELS}
# Characters of a text that stayed between two changes, of each end of it that is kept when it is
# longer, and of a changed text. The whole is in the API.
LONGEST_KEPT, KEPT_END, LONGEST_CHANGED = 240, 100, 2_000
# The picture's icons and words for what the sentence of a diff counts.
TAGS = {
    "added": ("plus", gettext_lazy("{n} added")),
    "reworded": ("pen", gettext_lazy("{n} edited")),
    "moved": ("up", gettext_lazy("{n} moved")),
    "removed": ("trash", gettext_lazy("{n} removed")),
}


@dataclass(frozen=True)
class Versions:
    """All versions of a plan, and what changed from `old` to `new`."""

    plan: Plan
    rows: list[PlanVersion]
    old: PlanVersion
    new: PlanVersion
    viewer: str

    @cached_property
    def diff(self) -> PlanDiff:
        return diff(self.old.text, self.new.text)

    @property
    def is_comparison(self) -> bool:
        return self.old.version != self.new.version

    @property
    def since_approved(self) -> bool:
        return self.is_comparison and self.old.version == self.plan.approved_version

    @property
    def listed(self) -> list[tuple[PlanVersion, str, str]]:
        """The newest first, each with who made it and why."""
        rows = []
        for row in reversed(self.rows):
            unsaid = (
                gettext("First proposal")
                if row.version == 1
                else gettext("Changed without an explanation")
            )
            rows.append((row, self.author(row), " ".join(row.explanation.split()) or unsaid))
        return rows

    @property
    def others(self) -> list[PlanVersion]:
        return [row for row in reversed(self.rows) if row.version != self.new.version]

    def author(self, row: PlanVersion) -> str:
        return name_for(actor_of(row.author_kind, row.author), self.viewer)

    @property
    def target(self) -> int | None:
        """Where one can go back to from here: what is looked at, or what it is compared with."""
        compared = [self.new.version, self.old.version]
        earlier = [version for version in compared if version != self.plan.version]
        return earlier[0] if earlier and self.plan.is_open else None

    @property
    def tags(self) -> list[tuple[str, str]]:
        """Icon and words of each kind of change."""
        tags = [("pen", gettext(LABELS[each.field]).lower()) for each in self.diff.fields]
        counts = [(*TAGS[kind], count) for kind, count in self.diff.counts.items() if count]
        return tags + [(icon, str(words).format(n=count)) for icon, words, count in counts]

    @property
    def quote(self) -> str:
        """What the agent said of it; a person's change explains itself in the list."""
        return self.new.explanation if self.new.author_kind == AGENT.value else ""

    @property
    def diff_rows(self) -> Iterator[Unchanged | ChangedSubtask]:
        """The rows, of which unchanged ones in a sequence are one."""
        groups = groupby(self.diff.rows, key=lambda row: (self.is_quiet(row), row.shift))
        for (is_quiet, _), rows in groups:
            if is_quiet:
                yield Unchanged(list(rows))
            else:
                yield from (ChangedSubtask(row, self.comments_on(row)) for row in rows)

    @cached_property
    def answered(self) -> dict[str, list[SubtaskComment]]:
        """By subtask: the comments that what changed between the two came out of."""
        return answered_between(self.plan, self.old.version, self.new.version)

    def comments_on(self, row: SubtaskDiff) -> list[SubtaskComment]:
        return self.answered.get(row.key) or self.answered.get(row.old_key) or []

    def is_quiet(self, row: SubtaskDiff) -> bool:
        """Nothing changed, and nobody asked for a change."""
        return row.change == Change.SAME and not self.comments_on(row)

    @property
    def fields(self) -> list[tuple[str, list[TextRun]]]:
        return labelled(self.diff.fields)


@dataclass(frozen=True)
class Unchanged:
    """Subtasks side by side, none of which changed."""

    rows: list[SubtaskDiff]
    is_same = True

    @property
    def words(self) -> str:
        """1 to 4, unchanged; 6, unchanged, was 5."""
        first, last = self.rows[0], self.rows[-1]
        now = span(first.place, last.place)
        if not first.shift:
            return gettext("{places}, unchanged").format(places=now)
        words = ngettext(
            "{places}, unchanged, was {before}",
            "{places}, unchanged, were {before}",
            len(self.rows),
        )
        return words.format(places=now, before=span(first.was, last.was))


@dataclass(frozen=True)
class ChangedSubtask:
    """A subtask that changed, or was to change: then its comments stand beside what came of it."""

    row: SubtaskDiff
    comments: list[SubtaskComment]
    is_same = False

    @property
    def is_untouched(self) -> bool:
        return self.row.change == Change.SAME

    @property
    def words(self) -> str:
        row = self.row
        if self.is_untouched:
            words = gettext("Subtask {number}, unchanged")
            if row.shift:
                words = gettext("Subtask {number}, unchanged, was {before}")
        elif row.change == Change.ADDED:
            words = gettext("Added as subtask {number}")
        elif row.change == Change.REMOVED:
            words = gettext("Removed, was subtask {before}")
        elif row.change == Change.MOVED:
            words = gettext("Moved from {before} to {number}")
        elif row.shift:
            words = gettext("Edited subtask {number}, was {before}")
            if row.moved:
                words = gettext("Edited and moved subtask {number}, was {before}")
        else:
            words = gettext("Edited subtask {number}")
            if row.moved:
                words = gettext("Edited and moved subtask {number}")
        return words.format(number=row.place, before=row.was)

    @property
    def checks(self) -> Sequence[CheckDiff]:
        """Each with a sentence; all of them where the subtask itself has come or gone."""
        own = self.row.text.get("checks") or []
        if self.row.change == Change.ADDED:
            return diff_checks([], own)
        return diff_checks(own, []) if self.row.change == Change.REMOVED else self.row.checks

    @property
    def name(self) -> list[TextRun]:
        """The name in runs, whether it changed or not."""
        as_it_was = list(replace(self.row.name, self.row.name))
        return next((runs for label, runs in self.texts if label == gettext("Name")), as_it_was)

    @property
    def fields(self) -> list[tuple[str, list[TextRun]]]:
        return [(label, runs) for label, runs in self.texts if label != gettext("Name")]

    @cached_property
    def texts(self) -> list[tuple[str, list[TextRun]]]:
        row = self.row
        if row.change not in (Change.ADDED, Change.REMOVED):
            return labelled(row.fields)
        texts = ((field, row.text[field]) for field in LABELS if row.text.get(field))
        if row.change == Change.ADDED:
            return labelled(Rewording(field, "", text) for field, text in texts)
        return labelled(Rewording(field, text, "") for field, text in texts)


def versions(
    plan: Plan, viewer: str, to: int | None = None, since: int | None = None
) -> Versions | None:
    """The versions of a plan; what is not named is chosen: the newest, and since you approved."""
    rows = list(plan.versions.defer("snapshot"))
    known = {row.version: row for row in rows}
    new = known.get(to or 0) or known.get(plan.version)
    if new is None:
        return None
    old = known.get(since or 0) or known.get(base_of(plan, new.version)) or new
    return Versions(plan, rows, old, new, viewer)


def base_of(plan: Plan, version: int) -> int:
    """What a version is best compared with: the one approved before it, or the one before it."""
    approved = plan.approved_version or 0
    is_newest = version == plan.version
    return approved if is_newest and 0 < approved < version else max(version - 1, 1)


@prepared
def two_versions(plan: int, old: int, new: int) -> QuerySet[PlanVersion]:
    return PlanVersion.objects.filter(Q(version=old) | Q(version=new), plan=plan)


@dataclass(frozen=True)
class VersionNews:
    """What stands beside the newest version's number, and what kind of author made it.
    `lost_checks` are how many checks are gone, and how many are weaker."""

    changes: int
    author_kind: str
    lost_checks: tuple[int, int] = (0, 0)


def news_of(plan: Plan) -> VersionNews:
    base = base_of(plan, plan.version)
    rows = two_versions.models(plan=plan.pk, old=base, new=plan.version)
    pair = {row.version: row for row in rows}
    old, new = pair.get(base), pair.get(plan.version)
    if old is None or new is None:
        return VersionNews(0, "")
    found = diff(old.text, new.text)
    return VersionNews(found.changes, new.author_kind, found.lost_checks)


def span(first: int | None, last: int | None) -> str:
    if first == last:
        return str(first)
    return gettext("{first} to {last}").format(first=first, last=last)


def labelled(fields: Iterable[Rewording]) -> list[tuple[str, list[TextRun]]]:
    """Without what nobody reads in long texts: cut between words."""
    found = []
    for field in fields:
        short, last = [], len(field.runs) - 1
        for place, run in enumerate(field.runs):
            text = run.text
            if run.op == Op.KEPT and last and len(text) > LONGEST_KEPT:
                head = fitting(words(text[: 2 * KEPT_END]), KEPT_END) if place else []
                after = reversed(words(text[-2 * KEPT_END :]))
                tail = fitting(after, KEPT_END) if place < last else []
                text = f"{''.join(head)} … {''.join(reversed(tail))}"
            elif len(text) > LONGEST_CHANGED:
                start = "".join(fitting(words(text[: 2 * LONGEST_CHANGED]), LONGEST_CHANGED))
                text = cut(start, len(text) - len(start))
            short.append(TextRun(run.op, text))
        found.append((gettext(LABELS[field.field]), short))
    return found


def cut(start: str, left_out: int) -> str:
    words = ngettext(
        "{start}… and {n} more character", "{start}… and {n} more characters", left_out
    )
    return words.format(start=start, n=grouped(left_out))


def fitting(pieces: Iterable[str], length: int) -> list[str]:
    """The first pieces that together have at most so many characters."""
    kept: list[str] = []
    for piece in pieces:
        length -= len(piece)
        if length < 0:
            break
        kept.append(piece)
    return kept
