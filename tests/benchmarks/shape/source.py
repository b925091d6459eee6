"""The product's Python files and templates, read and parsed once."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

NOT_THE_PRODUCT = {"tests", "docs", "static", "node_modules"}


@dataclass(frozen=True)
class Module:
    name: str
    path: Path
    text: str

    @cached_property
    def tree(self) -> ast.Module:
        return ast.parse(self.text, str(self.path))

    @property
    def is_package(self) -> bool:
        return self.path.name == "__init__.py"

    @property
    def app(self) -> str:
        return self.name.partition(".")[0]

    @property
    def lines(self) -> int:
        return self.text.count("\n")


@dataclass(frozen=True)
class Source:
    """`modules` are what may be imported, without tests and migrations; `left_out` are other
    Python files of the product's folders, such as the sample files of an agent."""

    root: Path
    modules: list[Module]
    left_out: list[Path]
    templates: list[Path]

    @cached_property
    def apps(self) -> list[str]:
        return sorted({module.app for module in self.modules if "." in module.name})

    @cached_property
    def template_text(self) -> str:
        return "\n".join(path.read_text() for path in self.templates)

    @cached_property
    def test_text(self) -> str:
        return "\n".join(path.read_text() for path in (self.root / "tests").rglob("*.py"))


def read(root: Path) -> Source:
    modules, left_out, templates = [], [], []
    for path in sorted(files(root)):
        if path.suffix == ".html":
            templates.append(path)
        elif "migrations" in path.parts:
            continue
        elif is_importable(path, root):
            modules.append(Module(name_of(path.relative_to(root)), path, path.read_text()))
        else:
            left_out.append(path.relative_to(root))
    return Source(root, modules, left_out, templates)


def files(root: Path) -> Iterator[Path]:
    for top in root.iterdir():
        if top.suffix == ".py":
            yield top
        elif top.is_dir() and top.name not in NOT_THE_PRODUCT and not top.name.startswith("."):
            yield from top.rglob("*.py")
            yield from top.rglob("*.html")


def is_importable(path: Path, root: Path) -> bool:
    """Every folder on the way to it is a package."""
    folders = path.relative_to(root).parents
    return all((root / each / "__init__.py").exists() for each in folders if each != Path())


def name_of(path: Path) -> str:
    parts = path.with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)
