"""What a process keeps at module level and changes: state that no test resets and no row shows.

`changed` are names that the module itself changes (by `global`, by a method such as `append`, by an
item). `kept` are objects made to be changed: locks, executors, queues, thread-locals, weak
dictionaries, instances of the product's own classes that are not frozen. Memory of functions
(`@cache`) is counted apart. Settings, loggers, routers and tag libraries are filled while modules
are read and are not counted.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from tests.benchmarks.shape.source import Module, Source

CHANGING = {
    *("append", "add", "extend", "update", "pop", "popitem", "popleft", "appendleft"),
    *("setdefault", "clear", "remove", "discard", "insert", "sort", "reverse"),
}
MADE_TO_BE_CHANGED = {
    *("local", "Lock", "RLock", "Event", "Condition", "Semaphore", "Queue", "deque", "count"),
    *("ThreadPoolExecutor", "ProcessPoolExecutor", "ContextVar"),
    *("WeakKeyDictionary", "WeakValueDictionary", "WeakSet"),
}
IMMUTABLE_BASES = {"NamedTuple", "Enum", "StrEnum", "IntEnum", "TextChoices", "BaseModel"}
MEMORY = {"cache", "lru_cache"}


def state_of(source: Source) -> dict[str, list[str]]:
    own = own_classes(source)
    found: dict[str, list[str]] = {"changed": [], "kept": [], "functions with a cache": []}
    for module in source.modules:
        assigned = dict(assignments(module.tree))
        changed = {name for name in assigned if is_changed(module.tree, name)}
        for name, value in assigned.items():
            kind = "changed" if name in changed else "kept" if is_kept(value, own) else ""
            if kind:
                found[kind].append(f"{module.name}.{name}")
        found["functions with a cache"] += [f"{module.name}.{name}" for name in cached(module)]
    return found


def assignments(tree: ast.Module) -> Iterator[tuple[str, ast.expr | None]]:
    for node in tree.body:
        targets = node.targets if isinstance(node, ast.Assign) else [getattr(node, "target", None)]
        for target in targets:
            if isinstance(node, ast.Assign | ast.AnnAssign) and isinstance(target, ast.Name):
                yield target.id, node.value


def is_changed(tree: ast.Module, name: str) -> bool:
    """By a function of the module; what is filled while the module is read is a constant."""
    functions = (n for n in ast.walk(tree) if isinstance(n, ast.FunctionDef | ast.AsyncFunctionDef))
    return any(changes(node, name) for function in functions for node in ast.walk(function))


def changes(node: ast.AST, name: str) -> bool:
    if isinstance(node, ast.Global):
        return name in node.names
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        return node.func.attr in CHANGING and is_name(node.func.value, name)
    if isinstance(node, ast.Subscript) and not isinstance(node.ctx, ast.Load):
        return is_name(node.value, name)
    return False


def is_name(node: ast.expr, name: str) -> bool:
    return isinstance(node, ast.Name) and node.id == name


def is_kept(value: ast.expr | None, own: set[str]) -> bool:
    if not isinstance(value, ast.Call):
        return False
    maker = ast.unparse(value.func).split(".")[-1]
    return maker in MADE_TO_BE_CHANGED or maker in own


def own_classes(source: Source) -> set[str]:
    """The product's own whose instances may change: not frozen, no enumeration, no schema."""
    return {
        node.name
        for module in source.modules
        for node in ast.walk(module.tree)
        if isinstance(node, ast.ClassDef) and not is_immutable(node)
    }


def is_immutable(node: ast.ClassDef) -> bool:
    frozen = any("frozen=True" in ast.unparse(each) for each in node.decorator_list)
    bases = {ast.unparse(base).split(".")[-1] for base in node.bases}
    return frozen or bool(bases & IMMUTABLE_BASES)


def cached(module: Module) -> Iterator[str]:
    for node in ast.walk(module.tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            names = {ast.unparse(d).split("(")[0].split(".")[-1] for d in node.decorator_list}
            if names & MEMORY:
                yield node.name
