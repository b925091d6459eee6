"""What the demo sees in a Markdown page: sections without text, and links that lead nowhere."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from difflib import SequenceMatcher
from posixpath import dirname, join, normpath, relpath

HEADING = re.compile(r"^(#{1,6})[ \t]+(.+?)[ \t]*#*$")
FENCE = re.compile(r"^ {0,3}(```|~~~)")
PLACEHOLDER = re.compile(
    r"(<!--)?\W*(todo|tbd|tba|fixme|coming soon|to be (written|done|added))\W*(-->)?", re.IGNORECASE
)
LINK = re.compile(r"\[([^\]]*)\]\(\s*<?([^)\s>]+)>?(?:\s+\"[^\"]*\")?\s*\)")
ELSEWHERE = re.compile(r"[a-z][a-z0-9+.-]*:|//", re.IGNORECASE)
ALIKE = 0.6

Pages = dict[str, str]


@dataclass(frozen=True)
class Section:
    """A heading, the text up to the next heading, and where both stand in the page."""

    title: str
    level: int
    body: str
    start: int
    end: int
    has_children: bool = False

    @property
    def is_gap(self) -> bool:
        body = self.body.strip()
        return not self.has_children and (not body or bool(PLACEHOLDER.fullmatch(body)))


@dataclass(frozen=True)
class Link:
    """A link to a place in the workspace: `path` is "" for a place in the same page."""

    page: str
    text: str
    target: str
    start: int
    end: int

    @property
    def path(self) -> str:
        return self.target.partition("#")[0]

    @property
    def anchor(self) -> str:
        return self.target.partition("#")[2]

    @property
    def file(self) -> str:
        """The file it leads to, seen from the top of the workspace."""
        if not self.path:
            return self.page
        return normpath(join(dirname(self.page), self.path)).lstrip("/")


def sections(text: str) -> list[Section]:
    heads = list(headings(text))
    found = []
    for number, (level, title, start, after) in enumerate(heads):
        following = heads[number + 1] if number + 1 < len(heads) else None
        end = following[2] if following else len(text)
        deeper = bool(following and following[0] > level)
        found.append(Section(title, level, text[after:end], start, end, deeper))
    return found


def headings(text: str) -> Iterator[tuple[int, str, int, int]]:
    """Level, title, where the heading starts and where its line ends; not those in code."""
    at, in_code = 0, False
    for line in text.splitlines(keepends=True):
        if FENCE.match(line):
            in_code = not in_code
        elif not in_code and (match := HEADING.match(line.rstrip("\n"))):
            yield len(match[1]), match[2].replace("`", ""), at, at + len(line)
        at += len(line)


def gaps(text: str) -> list[Section]:
    return [section for section in sections(text) if section.is_gap]


def slug(title: str) -> str:
    return re.sub(r"[^\w\- ]", "", title.lower()).strip().replace(" ", "-")


def anchors(text: str) -> list[str]:
    named = re.findall(r"<a\s+(?:id|name)=\"([^\"]+)\"", text)
    counted: dict[str, int] = {}
    for _, title, _, _ in headings(text):
        base = slug(title)
        counted[base] = counted.get(base, -1) + 1
        named.append(f"{base}-{counted[base]}" if counted[base] else base)
    return named


def links(page: str, text: str) -> list[Link]:
    """Those that lead into the workspace."""
    return [
        Link(page, match[1], match[2], match.start(), match.end())
        for match in LINK.finditer(without_code(text))
        if not ELSEWHERE.match(match[2])
    ]


def without_code(text: str) -> str:
    """The text with spaces for everything that is code, so that places stay what they are."""
    spaces = re.compile(r"^ {0,3}(```|~~~).*?^ {0,3}\1|`[^`\n]+`", re.DOTALL | re.MULTILINE)
    return spaces.sub(lambda code: re.sub(r"[^\n]", " ", code[0]), text)


def broken_links(pages: Pages, files: list[str]) -> list[Link]:
    every = [link for page, text in pages.items() for link in links(page, text)]
    return [link for link in every if is_broken(link, pages, files)]


def is_broken(link: Link, pages: Pages, files: list[str]) -> bool:
    if link.file.startswith(".."):
        return False  # outside the workspace: nobody here can tell
    if link.file not in files and not is_folder(link.file, files):
        return True
    return (
        bool(link.anchor) and link.file in pages and not has_anchor(pages[link.file], link.anchor)
    )


def has_anchor(text: str, anchor: str) -> bool:
    return anchor.lower() in (known.lower() for known in anchors(text))


def is_folder(path: str, files: list[str]) -> bool:
    return path == "." or any(file.startswith(f"{path}/") for file in files)


def mended(link: Link, pages: Pages, files: list[str]) -> str | None:
    """The existing target that the link most likely meant; None when nothing is like it."""
    file = link.file if link.file in files else likeliest(link.file, files, "")
    if file is None:
        return None
    path = "" if file == link.page else relpath(file, dirname(link.page) or ".")
    if not link.anchor or file not in pages:
        return path or None
    known = anchors(pages[file])
    anchor = link.anchor if link.anchor in known else likeliest(link.anchor, known, link.text)
    if anchor is None:
        return path or None
    return f"{path}#{anchor}"


def likeliest(wanted: str, known: list[str], words: str) -> str | None:
    scored = [(likeness(wanted, name, slug(words)), name) for name in known]
    best = max(scored, default=(0.0, ""))
    return best[1] if best[0] >= ALIKE else None


def likeness(wanted: str, name: str, words: str) -> float:
    """From 0 to 1, by spelling: of the whole, of the last part of a path, or of the link's text."""
    ends = wanted.rpartition("/")[2], name.rpartition("/")[2]
    pairs = [(wanted, name), ends] + ([(words, name)] if words else [])
    spelling = max(SequenceMatcher(None, *pair).ratio() for pair in pairs)
    stem = ends[0].partition(".")[0]
    return max(spelling, 0.9) if len(stem) > 3 and stem in ends[1] else spelling
