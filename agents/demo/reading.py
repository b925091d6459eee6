"""How the demo looks at a workspace: it lists the files and reads those that matter."""

from __future__ import annotations

import re
from collections.abc import Generator
from dataclasses import dataclass, field

from agents.demo.heard import Answer, Call
from agents.demo.pages import Link, Pages, Section, broken_links, gaps

Reading = Generator[Answer, list[str], "Workspace"]

UNDONE = re.compile(
    r"was not carried out|does not exist|may not be opened|is not (a|an) |is a folder|cannot be"
    r"|was denied|denied by|too large|interrupted before|paths are relative",
    re.IGNORECASE,
)
PARTIAL = re.compile(r"\n\[(Lines|Not UTF-8|A line is cut)[^\n]*\]\s*$")
MOST_FILES = 60


@dataclass(frozen=True)
class Scope:
    """What a job is about: which pages (all if none are named), which sections."""

    pages: tuple[str, ...] = ()
    titles: tuple[str, ...] = ()
    readme_only: bool = False
    docs_only: bool = False

    def has(self, page: str) -> bool:
        is_readme = page.lower().rpartition("/")[2].startswith("readme")
        if self.pages:
            return page in self.pages
        return is_readme if self.readme_only else not (self.docs_only and is_readme)


@dataclass
class Workspace:
    """What was read: the pages, the sources, and every path there is."""

    files: list[str] = field(default_factory=list)
    texts: Pages = field(default_factory=dict)

    @property
    def pages(self) -> Pages:
        return {path: text for path, text in self.texts.items() if path.lower().endswith(".md")}

    def gaps(self, scope: Scope) -> list[tuple[str, Section]]:
        found = [(page, gap) for page, text in self.pages.items() for gap in gaps(text)]
        named = [pair for pair in found if pair[1].title in scope.titles] or found
        return [pair for pair in named if scope.has(pair[0])]

    def broken(self, scope: Scope) -> list[Link]:
        broken = broken_links(self.pages, self.files)
        return [link for link in broken if scope.has(link.page)]


def read_all(saying: str, sources: bool = False) -> Reading:
    """List the files, then read the pages, and the sources where the work needs them."""
    listing = (yield Answer(saying, [Call("list_files", {})]))[0]
    rows = [row.removesuffix(" (link)") for row in listing.splitlines()]
    files = [row for row in rows if row and "." in row and not UNDONE.search(row)]
    wanted = [path for path in files if path.lower().endswith((".md", ".py")[: 1 + sources])]
    wanted = sorted(wanted, key=reading_order)[:MOST_FILES]
    workspace = Workspace(files)
    if wanted:
        reads = [Call("read_file", {"path": path}) for path in wanted]
        texts = yield Answer(f"{counted(len(wanted), 'file')} to read.", reads)
        workspace.texts = {
            path: text for path, text in zip(wanted, texts, strict=False) if is_whole(text)
        }
    return workspace


def reading_order(path: str) -> tuple[bool, bool, str]:
    return path.endswith(".py"), not path.lower().startswith("readme"), path


def is_whole(text: str) -> bool:
    refused = "\n" not in text.strip() and UNDONE.search(text)
    return not refused and not PARTIAL.search(text)


def counted(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"
