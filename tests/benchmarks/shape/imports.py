"""Who imports whom inside an app, and the knots: packages that import each other in a circle.

A package here is what lies directly in an app, be it a folder or a single module. Imports that
only type checkers read (`if TYPE_CHECKING`) run never and are not counted.
"""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass

from tests.benchmarks.shape.source import Module, Source


@dataclass(frozen=True)
class Import:
    """`target` is the module that is read; `deferred` where a function does it when called."""

    module: Module
    target: str
    line: int
    deferred: bool

    @property
    def packages(self) -> tuple[str, str]:
        return package_of(self.module.name), package_of(self.target)


def package_of(name: str) -> str:
    return ".".join(name.split(".")[:2])


def imports_of(source: Source) -> list[Import]:
    names = {module.name for module in source.modules}
    return [found for module in source.modules for found in imports_in(module, names)]


def imports_in(module: Module, names: set[str]) -> Iterator[Import]:
    for node, deferred in running_imports(module.tree, False):
        for target in targets(module, node, names):
            if target in names and target != module.name:
                yield Import(module, target, node.lineno, deferred)


def running_imports(
    node: ast.AST, deferred: bool
) -> Iterator[tuple[ast.Import | ast.ImportFrom, bool]]:
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.Import | ast.ImportFrom):
            yield child, deferred
        elif isinstance(child, ast.If) and "TYPE_CHECKING" in ast.unparse(child.test):
            for other in child.orelse:
                yield from running_imports(ast.Module([other], []), deferred)
        else:
            inside = isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda)
            yield from running_imports(child, deferred or inside)


def targets(module: Module, node: ast.Import | ast.ImportFrom, names: set[str]) -> list[str]:
    if isinstance(node, ast.Import):
        return [alias.name for alias in node.names]
    base = from_where(module, node)
    inner = [f"{base}.{alias.name}" for alias in node.names]
    return [each if each in names else base for each in inner]


def from_where(module: Module, node: ast.ImportFrom) -> str:
    if not node.level:
        return node.module or ""
    up = module.name.split(".")
    up = up[: len(up) - node.level + module.is_package]
    return ".".join([*up, node.module] if node.module else up)


def knots(imports: list[Import], app: str) -> list[list[str]]:
    """Each a list of packages of this app that reach each other."""
    ways: dict[str, set[str]] = defaultdict(set)
    for each in imports:
        before, after = each.packages
        if before != after and before.startswith(f"{app}.") and after.startswith(f"{app}."):
            ways[before].add(after)
    reached = {start: reach(ways, start) for start in list(ways)}
    circles = {
        tuple(sorted({here} | {there for there in reached[here] if here in reached.get(there, ())}))
        for here in reached
        if here in reached[here]
    }
    return sorted(map(list, circles), key=len, reverse=True)


def reach(ways: dict[str, set[str]], start: str) -> set[str]:
    seen: set[str] = set()
    waiting = [start]
    while waiting:
        for there in ways.get(waiting.pop(), set()) - seen:
            seen.add(there)
            waiting.append(there)
    return seen
