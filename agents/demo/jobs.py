"""The work the demo can do on documents, written as conversations with its tools.

A job is a generator: it yields an Answer with calls and is sent their results. It is run anew from
its start for each request, over the results in the messages, so it needs no memory of its own.
"""

from __future__ import annotations

from collections.abc import Generator

from agents.demo.fillings import filling
from agents.demo.heard import Answer, Call
from agents.demo.pages import Link, Section, gaps, mended
from agents.demo.reading import Scope, Workspace, counted, is_whole, read_all

Job = Generator[Answer, list[str], Answer]
Outcome = Generator[Answer, list[str], bool]
Writing = Generator[Answer, list[str], "str | None"]


def take_stock(scope: Scope) -> Job:
    workspace = yield from read_all("I will look at what is there.")
    if not workspace.pages:
        return no_pages()
    empty, broken = workspace.gaps(scope), workspace.broken(scope)
    found = f"{counted(len(empty), 'empty section')} and {counted(len(broken), 'broken link')}"
    named = [f"- “{gap.title}” in {page} is empty" for page, gap in empty]
    named += [f"- {link.target} in {link.page} leads nowhere" for link in broken]
    return finish(f"Read {counted(len(workspace.pages), 'page')}: {found}.", "\n".join(named))


def check(scope: Scope) -> Job:
    workspace = yield from read_all("I will read everything once more.")
    if not workspace.pages:
        return no_pages()
    empty, broken = workspace.gaps(scope), workspace.broken(scope)
    read = f"Read {counted(len(workspace.pages), 'page')} once more"
    if not empty and not broken:
        return finish(f"{read}: 0 empty sections and 0 broken links.")
    left = [f"empty: {sections_named(empty)}"] if empty else []
    left += [f"broken: {links_named(broken)}"] if broken else []
    return finish(
        f"{read}: {counted(len(empty), 'empty section')} and "
        f"{counted(len(broken), 'broken link')} are left. " + "; ".join(left).capitalize() + "."
    )


def fill_sections(scope: Scope) -> Job:
    workspace = yield from read_all("I will read the pages and the code they describe.", True)
    if not workspace.pages:
        return no_pages()
    empty = workspace.gaps(scope)
    if not empty:
        return finish(f"Nothing was left to do: no section of {about(scope)} is empty.")
    yield progress(f"{counted(len(empty), 'empty section')}: {sections_named(empty)}.")
    done, open_, trouble = [], [], ""
    for page, gap in empty:
        text = filling(page, gap, workspace.texts)
        if text and (yield from filled(workspace, page, gap, text)):
            done.append((page, gap))
        else:
            open_.append((page, gap))
            trouble = f"{page} could not be changed" if text else trouble
    return sections_told(done, open_, trouble)


def filled(workspace: Workspace, page: str, gap: Section, text: str) -> Outcome:
    """Put the text under its heading; true if it stands there afterwards."""
    before = workspace.texts[page]
    # An earlier edit of the page has moved what comes after it.
    here = next((each for each in gaps(before) if each.title == gap.title), None)
    if here is None:
        return False
    old, new = replacement(before, here, text)
    said = f"“{gap.title}” in {page}: the other files say what belongs there."
    after = yield from change(page, before, old, new, said)
    workspace.texts[page] = after or before
    return new in workspace.texts[page]


def sections_told(
    done: list[tuple[str, Section]], open_: list[tuple[str, Section]], trouble: str
) -> Answer:
    if not done:
        reason = trouble or "no file says what belongs there"
        return fail(f"No section was filled in ({sections_named(open_)}): {reason}.")
    outcome = f"Filled in {counted(len(done), 'section')}: {sections_named(done)}."
    if open_:
        why = trouble or "no file says what belongs there"
        outcome += f" Left open: {sections_named(open_)}, because {why}."
    return finish(outcome)


def replacement(page_text: str, gap: Section, text: str) -> tuple[str, str]:
    """The piece to replace, with the line after it so that it is there only once."""
    heading, _, body = page_text[gap.start : gap.end].partition("\n")
    following = page_text[gap.end :].partition("\n")[0]
    old = heading if not body and not following else f"{heading}\n{body}{following}"
    new = f"{heading}\n\n{text}\n" + (f"\n{following}" if following else "")
    return old, new


def fix_links(scope: Scope) -> Job:
    workspace = yield from read_all("I will follow every link.")
    if not workspace.pages:
        return no_pages()
    broken = workspace.broken(scope)
    if not broken:
        return finish(f"Nothing was left to do: no link in {about(scope)} is broken.")
    yield progress(f"{counted(len(broken), 'broken link')}: {links_named(broken)}.")
    fixed: list[str] = []
    left: list[Link] = []
    for link in broken:
        target = mended(link, workspace.pages, workspace.files)
        if target and (yield from pointed(workspace, link, target)):
            fixed.append(f"{link.target} → {target} in {link.page}")
        else:
            left.append(link)
    return links_told(fixed, left)


def pointed(workspace: Workspace, link: Link, target: str) -> Outcome:
    """Point a link at another target; true if it does so afterwards."""
    before = workspace.texts[link.page]
    old, new = f"[{link.text}]({link.target})", f"[{link.text}]({target})"
    if old not in before:
        return False
    said = f"{link.page}: {link.target} is not there, {target} is."
    after = yield from change(link.page, before, old, new, said)
    workspace.texts[link.page] = after or before
    return new in workspace.texts[link.page]


def links_told(fixed: list[str], left: list[Link]) -> Answer:
    if not fixed:
        return fail(
            f"No link was fixed ({links_named(left)}): nothing there resembles what they lead to, "
            "or the pages could not be changed."
        )
    outcome = f"Fixed {counted(len(fixed), 'link')}: {'; '.join(fixed)}."
    if left:
        outcome += f" Left as they are: {links_named(left)}."
    return finish(outcome)


def fill_and_fix(scope: Scope) -> Job:
    filled = yield from fill_sections(scope)
    fixed = yield from fix_links(scope)
    both = [told(filled), told(fixed)]
    if all(answer.calls[0].tool == "fail_subtask" for answer in (filled, fixed)):
        return fail(" ".join(both))
    return finish(" ".join(both))


def change(page: str, before: str, old: str, new: str, said: str) -> Writing:
    """Change a page and read it again: what counts is what stands there then."""
    if before.count(old) == 1:
        edit = Call("edit_file", {"path": page, "old": old, "new": new})
    else:
        content = before.replace(old, new, 1)
        edit = Call("write_file", {"path": page, "content": content})
    yield Answer(said, [edit])
    text = (yield Answer("", [Call("read_file", {"path": page})]))[0]
    return text if is_whole(text) else None


def no_pages() -> Answer:
    return fail("There are no Markdown pages that can be read in the workspace.")


def progress(text: str) -> Answer:
    return Answer("", [Call("report_progress", {"text": text})])


def finish(outcome: str, said: str = "") -> Answer:
    return Answer(said, [Call("finish_subtask", {"outcome": outcome})])


def fail(error: str) -> Answer:
    return Answer("", [Call("fail_subtask", {"error": error})])


def told(answer: Answer) -> str:
    return "".join(str(value) for value in answer.calls[0].arguments.values())


def about(scope: Scope) -> str:
    if scope.pages:
        return ", ".join(scope.pages)
    return "the README" if scope.readme_only else "the docs" if scope.docs_only else "the pages"


def sections_named(pairs: list[tuple[str, Section]]) -> str:
    return ", ".join(f"“{gap.title}” in {page}" for page, gap in pairs)


def links_named(broken: list[Link]) -> str:
    return ", ".join(f"{link.target} in {link.page}" for link in broken)
