"""What the calls so far have shown of the workspace's Markdown pages, and what to do about it.

A fault is an empty section or a link that leads nowhere: page, name (title or target), where it
starts and ends there, and `new`, what would put it right, or "".
"""

from __future__ import annotations

import re
from difflib import get_close_matches
from inspect import cleandoc
from posixpath import basename, dirname, join, normpath, relpath, splitext
from typing import Any
from urllib.parse import unquote

from agents.demo.languages import SIGN, plain
from agents.demo.script import SCRIPT, Call, Facts, Wording, filled, reads, regex

Pages = dict[str, str]
Fault = dict[str, Any]
MOST_SOURCES = 40


class Work:
    """`about`: the words that say which pages and sections are meant."""

    def __init__(self, calls: list[Call], about: Wording) -> None:
        by_tool = {call.name: call for call in calls}
        self.listing = by_tool.get("list_files")
        self.forgot = bool(calls) and self.listing is None  # it fell out of the context window
        self.reported = "report_progress" in by_tool
        self.ended = by_tool.get("finish_subtask") or by_tool.get("fail_subtask")
        self.edits = [call for call in calls if call.name == "edit_file"]
        listed = self.listing.result if self.listing else ""
        self.is_cut = bool(reads("cut").search(listed))
        self.files = [reads("special").sub("", row) for row in listed.splitlines()]
        asked = [call for call in calls if call.name == "read_file"]
        whole = [call for call in asked if not reads("not_whole").search(call.result)]
        self.now: Pages = {call.arguments["path"]: call.result for call in whole}
        self.before: Pages = {call.arguments["path"]: call.result for call in whole[::-1]}
        every = sorted(file for file in self.files if file.lower().endswith(".md"))
        sources = [file for file in self.files if file.endswith(".py")][:MOST_SOURCES]
        paths = [call.arguments["path"] for call in asked]
        self.unread = [file for file in every if file not in paths]
        self.unread_sources = [file for file in sources if file not in paths]
        self.unreadable = [file for file in every if file in paths and file not in self.now]
        self.pages = [file for file in self.meant(every, about) if file in self.now]
        found = [max(groups) for groups in reads("titles").findall(about)]
        self.titles = [title for title in found if not reads("page").search(title)]
        there = {title for page in self.pages for title in titles(self.now[page])}
        self.no_such_section = next((title for title in self.titles if title not in there), "")
        refused = [call.result for call in self.edits if not call.result.startswith("Edited")]
        self.refusal = refused[-1].rstrip(".") if refused else ""
        self.gaps = self.faults(self.empty_sections(self.before), self.empty_sections(self.now))
        links = broken_links(self.before, self.files), broken_links(self.now, self.files)
        self.links = self.faults(*links)

    def meant(self, pages: list[str], about: Wording) -> list[str]:
        """Those that are named by path, by kind, or as in “the quickstart”; all where none is."""
        rest = Wording(reads("page").sub("", about))
        stems = {page: splitext(basename(page))[0].lower() for page in pages}
        known = [page for page in pages if not Wording(stems[page]).says["no_page"]]
        called = [page for page in known if is_called(stems[page], rest)]
        self.named = reads("page").findall(about) + called
        kind = {page: "readme" if stems[page].startswith("readme") else "docs" for page in pages}
        none = not (self.named or rest.says["readme"] or rest.says["docs"])
        return [page for page in pages if none or rest.says[kind[page]] or page in self.named]

    def empty_sections(self, texts: Pages) -> list[Fault]:
        every = [(page, *gap) for page in self.pages for gap in gaps(texts[page])]
        return [
            {"page": page, "name": name, "start": start, "end": end, "new": new}
            for page, name, start, end in every
            for new in [filling(page, name, texts, texts[page][start:end])]
            if not self.titles or name in self.titles
        ]

    def faults(self, before: list[Fault], now: list[Fault]) -> Facts:
        """What is left, what is mended, and as `next` the first fault whose edit was not tried.

        `edit` is the arguments of edit_file, with as many lines around the fault as make its text
        the only one of its kind.
        """
        left = [fault for fault in now if fault["page"] in self.pages]
        names = [(fault["page"], fault["name"]) for fault in left]
        mended = [fault for fault in before if (fault["page"], fault["name"]) not in names]
        tried = [call.arguments for call in self.edits if not call.result.startswith("Interrupted")]
        upcoming = None
        for fault in (fault for fault in left if fault["new"]):
            text = self.now[fault["page"]]
            start, end = low, high = fault["start"], fault["end"]
            while text.count(text[low:high]) > 1:
                low = text.rfind("\n", 0, max(low - 1, 0)) + 1
                high = text.find("\n", high) + 1 or len(text)
            new = text[low:start] + fault["new"] + text[end:high]
            edit = {"path": fault["page"], "old": text[low:high], "new": new}
            if edit not in tried:
                upcoming = {**fault, "edit": edit}
                break
        return {
            "left": left,
            "mended": [fault for fault in mended if fault["page"] in self.pages],
            "next": upcoming,
        }


def is_called(stem: str, words: str) -> bool:
    """Whether the words name the page: as a word, within unspaced ones, or as people call it."""
    called = SCRIPT["pages"].get(stem)
    return (
        stem in re.findall(r"[\w-]+", plain(words).lower())
        or (bool(re.search(SIGN, stem)) and stem in words)
        or (called is not None and bool(regex(called, "pages").search(words)))
    )


def filling(page: str, title: str, texts: Pages, section: str) -> str:
    """The section with what belongs into it by what the files say; "" if they say nothing."""
    for recipe in SCRIPT["filling"]:
        if heading := re.search(recipe["heading"], title, re.IGNORECASE):
            facts: dict[str, object] = heading.groupdict()
            escaped = {key: re.escape(str(value)) for key, value in facts.items()}
            inside = {file: texts[file] for file in texts if re.search(recipe.get("in", ""), file)}
            for name, expressions in recipe["find"].items():
                wanted = [filled(each, escaped) for each in expressions]
                facts[name] = findings(wanted, page, inside)
            if all(facts.values()):
                heading_line = section.partition("\n")[0]
                return f"{heading_line}\n\n{filled(recipe['content'], facts).strip()}\n\n"
    return ""


def findings(expressions: list[str], page: str, texts: Pages) -> list[Facts]:
    """What the last expression finds in what those before it have found, in the first such file."""
    for file, text in texts.items():
        for outer in expressions[:-1]:
            text = found[1] if (found := re.search(outer, text)) else ""
        if every := [found.groupdict("") for found in re.finditer(expressions[-1], text)]:
            where = {"file": file, "path": relpath(file, dirname(page) or ".")}
            for groups in every:
                for key, found_text in groups.items():  # paragraphs of one line each
                    parts = cleandoc(found_text).split("\n\n")
                    groups[key] = "\n\n".join(" ".join(part.split()) for part in parts)
            return [{**groups, **where} for groups in every]
    return []


def without_code(text: str) -> str:
    """With an x for everything that is code, so that places stay what they are."""
    return reads("code").sub(lambda code: re.sub(r"\S", "x", code[0]), text)


def titles(text: str) -> list[str]:
    heads = [text[slice(*head.span())] for head in reads("heading").finditer(without_code(text))]
    return [head.strip("# \t\n").replace("`", "") for head in heads]


def gaps(text: str) -> list[tuple[str, int, int]]:
    """Sections without text: the title, and where they begin and end."""
    spans = [found.span() for found in reads("gap").finditer(without_code(text))]
    return [(titles(text[start:end])[0], start, end) for start, end in spans]


def anchors(text: str) -> list[str]:
    slugs = [slug(title) for title in titles(text)]
    counted = [(each, slugs[:number].count(each)) for number, each in enumerate(slugs)]
    named = re.findall(r"<a\s+(?:id|name)=\"([^\"]+)\"", text.lower())
    return named + [f"{each}-{before}" if before else each for each, before in counted]


def slug(title: str) -> str:
    return re.sub(r"[^\w\- ]", "", title.lower()).strip().replace(" ", "-")


def broken_links(texts: Pages, files: list[str]) -> list[Fault]:
    return [
        {"page": page, "name": found["target"], "start": start, "end": end, "new": new}
        for page, text in sorted(texts.items())
        if page.endswith(".md")
        for found in reads("link").finditer(without_code(text))
        for start, end in [found.span("target")]
        for new in [mended(page, found["text"], found["target"], texts, files)]
        if new is not None
    ]


def mended(page: str, words: str, target: str, texts: Pages, files: list[str]) -> str | None:
    """What a broken link most likely meant, "" if nothing is like it; None if it works."""
    path, _, anchor = unquote(target).partition("#")
    wanted = normpath(join(dirname(page), path)).lstrip("/") if path else page
    is_there = any(file == wanted or file.startswith(f"{wanted}/") for file in files)
    known = anchors(texts[wanted]) if wanted in texts else [anchor.lower()]
    # What is outside the workspace, nobody here can tell.
    if wanted.startswith(".") or (is_there and (not anchor or anchor.lower() in known)):
        return None
    file = wanted
    if not is_there:
        # A file of that name elsewhere, or of a name like it; other digits mean another file.
        name, kind = splitext(basename(wanted))
        near = [each for each in get_close_matches(wanted, files, 9, 0.5) if each.endswith(kind)]
        names = {splitext(basename(each))[0]: each for each in near[::-1]}
        same = [each for each in names if re.findall(r"\d", each) == re.findall(r"\d", name)]
        file = next((names[each] for each in get_close_matches(name, same, 1)), "")
    way = "" if file in ("", page) else relpath(file, dirname(page) or ".")
    known = anchors(texts[file]) if anchor and file in texts else []
    alike = [get_close_matches(each, known, 1) for each in (anchor.lower(), slug(words))]
    return next((f"{way}#{found[0]}" for found in alike if found), way)
