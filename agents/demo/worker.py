"""The demo as executor: one subtask, understood by its words, worked on with the real tools."""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Callable

from agents.demo import jobs
from agents.demo.heard import Answer, Call, Heard, Subtask
from agents.demo.jobs import Job
from agents.demo.reading import Scope

LINKS = re.compile(r"\b(links?|anchors?|urls?|references)\b", re.I)
GAPS = re.compile(r"\b(sections?|missing|empty|gaps?|todos?|blanks?|placeholders?|stubs?)\b", re.I)
DOCS = re.compile(r"\b(readme|docs?|documents?|documentation|pages?|api|guide)\b|\.md\b", re.I)
FIXES = re.compile(r"\b(fix|repair|mend|correct|updat|replac)(e|es|ed|ing)?\b", re.I)
FILLS = re.compile(r"\b(fill|complet|finish|writ|add|document|draft)(e|es|ing)?\b", re.I)
CHECKS = re.compile(r"\b(check|verify|review|proof\w*|confirm|re-?read|test|validate)\w*\b", re.I)
LOOKS = re.compile(
    r"\b(take stock|read|list|find|survey|inventory|audit|look|scan|collect|count|catalog\w*"
    r"|understand|explore|identify|assess|analy[sz]e|map)\b",
    re.I,
)
BOTH = re.compile(r"\b(tidy|clean|polish|improve)\b", re.I)
TITLED = re.compile(r"[“\"'`]([^”\"'`]+)[”\"'`]|\b(?:the|a) ([A-Z][\w ]+?) section\b")
FILE = re.compile(r"[\w./-]+\.md\b")

MakeJob = Callable[[Scope], Job]
NEEDS: dict[MakeJob, set[str]] = {
    jobs.fill_sections: {"edit_file"},
    jobs.fix_links: {"edit_file"},
    jobs.fill_and_fix: {"edit_file"},
}


def work(heard: Heard) -> Answer:
    """The next thing to do for the subtask, given what its calls have returned so far."""
    subtask = heard.subtask()
    if subtask is None:
        return jobs.fail("The demo model was given no subtask it could read.")
    make_job = understood(subtask)
    if make_job is None:
        return jobs.fail(not_understood(subtask))
    missing = {"list_files", "read_file", *NEEDS.get(make_job, set())} - heard.offered
    if missing:
        return jobs.fail(f"This needs {', '.join(sorted(missing))}, which this agent may not use.")
    return replayed(make_job(scope_of(subtask)), heard)


def understood(subtask: Subtask) -> MakeJob | None:
    """By the name; where that says too little, by everything the subtask says."""
    return meant(subtask.name) or meant(subtask.words)


def meant(words: str) -> MakeJob | None:
    about_links, about_gaps = LINKS.search(words), GAPS.search(words)
    fixes = about_links and FIXES.search(words)
    fills = FILLS.search(words) and (about_gaps or about_titled(words))
    if (fixes and fills) or (BOTH.search(words) and DOCS.search(words)):
        return jobs.fill_and_fix
    if fixes or fills:
        return jobs.fix_links if fixes else jobs.fill_sections
    about_docs = about_links or about_gaps or DOCS.search(words)
    if about_docs and CHECKS.search(words):
        return jobs.check
    if about_docs and LOOKS.search(words):
        return jobs.take_stock
    if about_links or about_gaps:
        return jobs.fix_links if about_links else jobs.fill_sections
    return jobs.check if re.search(r"\bcheck the result", words, re.I) else None


def about_titled(words: str) -> bool:
    """Words that name what the README or a page lacks, as in “Write the Usage part”."""
    return bool(
        re.search(r"\b(usage|exit codes?|undo a run|name clashes|plan_moves)\b", words, re.I)
    )


def scope_of(subtask: Subtask) -> Scope:
    name = subtask.name
    readme = re.search(r"\breadme\b", name, re.I)
    docs = re.search(r"\b(docs?|api|documentation|guide)\b", name, re.I)
    titles = [match[1] or match[2] for match in TITLED.finditer(name)]
    return Scope(
        tuple(FILE.findall(name)) if not docs or "/" in name else (),
        tuple(titles),
        readme_only=bool(readme and not docs),
        docs_only=bool(docs and not readme),
    )


def not_understood(subtask: Subtask) -> str:
    return (
        f"The demo model follows a script and cannot do “{subtask.name}”. It can take stock of "
        "Markdown pages, fill in empty sections, fix broken links and check the result. Skip this "
        "subtask, reword it, or connect a model in Settings > Models."
    )


def replayed(job: Job, heard: Heard) -> Answer:
    """Run the job over the results that are there, up to the first call that has none."""
    known = heard.results()
    can_report = "report_progress" in heard.offered
    try:
        answer = next(job)
        while True:
            results = results_of(answer, known, can_report)
            if results is None:
                return answer
            answer = job.send(results)
    except StopIteration as done:
        return ended(done.value, known)


def results_of(answer: Answer, known: dict[str, deque[str]], can_report: bool) -> list[str] | None:
    """What the calls returned, in their order; None when they are yet to be made."""
    if not can_report and answer.calls[0].tool == "report_progress":
        return [""]
    if not all(known.get(call.key) for call in answer.calls):
        return None
    return [known[call.key].popleft() for call in answer.calls]


def ended(answer: Answer, known: dict[str, deque[str]]) -> Answer:
    """The last call of a job. Refused once, it is said in words instead of again and again."""
    call: Call = answer.calls[0]
    refusals = known.get(call.key)
    if not refusals:
        return answer
    return Answer(f"{call.tool} was answered with: {refusals[-1]} I can do no more here.")
