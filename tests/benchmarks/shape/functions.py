"""Every function with its length, and whether only one place uses it.

What counts as one caller: the name is used once in its own file apart from the definition (a
recursive call is no use), and nowhere else in the product. Whom a name means is read from the
imports for functions of a module, from the name alone for methods; a method's name that two
classes define, or that a template or a string says, is not counted. `called` is a plain call,
`passed` any other use: a thread is given it, a table holds it. Tests are no callers.

Told apart and not in the share: nested functions (most are what a decorator returns), decorated
ones (a decorator may register them), and hooks, which others call: dunder methods, methods that
call the same one of `super()`, those of protocols. A hook of a framework's class is not used in its
own file, so it is not counted either.
"""

from __future__ import annotations

import ast
import re
from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property

from tests.benchmarks.shape.imports import from_where
from tests.benchmarks.shape.source import Module, Source

Def = ast.FunctionDef | ast.AsyncFunctionDef
# These say what kind of function it is; none hands it to anybody.
HARMLESS = {"staticmethod", "classmethod", "property", "cached_property", "override"}
PLAIN = ("of a module", "method")
KINDS = (*PLAIN, "nested", "decorated", "hook")


@dataclass(frozen=True)
class Use:
    inside: tuple[Def, ...]  # the functions around it, the outermost first
    is_call: bool
    on_super: bool = False


@dataclass
class Names:
    """What one file says: names, attributes, strings, and what it imports from where."""

    names: dict[str, list[Use]] = field(default_factory=lambda: defaultdict(list))
    attributes: dict[str, list[Use]] = field(default_factory=lambda: defaultdict(list))
    strings: Counter[str] = field(default_factory=Counter)
    imported: set[str] = field(default_factory=set)  # "module.name"


@dataclass(frozen=True)
class Function:
    module: Module
    node: Def
    kind: str
    uses: str  # "called", "passed": by one place of its own file alone; else ""

    @property
    def name(self) -> str:
        return f"{self.module.name}.{self.node.name}"

    @property
    def lines(self) -> int:
        """With its docstring, without its decorators."""
        return (self.node.end_lineno or 0) - self.node.lineno + 1


class Reader(ast.NodeVisitor):
    def __init__(self, module: Module) -> None:
        self.module = module
        self.said = Names()
        self.around: list[Def] = []
        self.called: set[int] = set()
        self.found: list[tuple[Def, str, bool]] = []  # function, kind, whether a class holds it
        self.holder: list[ast.ClassDef | Def] = []

    def visit_ClassDef(self, node: ast.ClassDef) -> None:
        for each in [*node.decorator_list, *node.bases, *node.keywords]:
            self.visit(each)
        self.holder.append(node)
        for each in node.body:
            self.visit(each)
        self.holder.pop()

    def visit_FunctionDef(self, node: Def) -> None:
        holder = self.holder[-1] if self.holder else None
        self.found.append((node, kind_of(node, holder), isinstance(holder, ast.ClassDef)))
        for each in [*node.decorator_list, *filter(None, [node.returns])]:
            self.visit(each)
        self.visit(node.args)
        self.holder.append(node)
        self.around.append(node)
        for each in node.body:
            self.visit(each)
        self.around.pop()
        self.holder.pop()

    def visit_AsyncFunctionDef(self, node: ast.AsyncFunctionDef) -> None:
        self.visit_FunctionDef(node)

    def visit_Call(self, node: ast.Call) -> None:
        self.called.add(id(node.func))
        self.generic_visit(node)

    def visit_Name(self, node: ast.Name) -> None:
        if isinstance(node.ctx, ast.Load) and not self.is_local(node.id):
            use = Use(tuple(self.around), id(node) in self.called)
            self.said.names[node.id].append(use)

    def visit_Attribute(self, node: ast.Attribute) -> None:
        on_super = isinstance(node.value, ast.Call) and ast.unparse(node.value.func) == "super"
        use = Use(tuple(self.around), id(node) in self.called, on_super)
        self.said.attributes[node.attr].append(use)
        self.visit(node.value)

    def visit_Constant(self, node: ast.Constant) -> None:
        if isinstance(node.value, str):
            self.said.strings[node.value] += 1

    def visit_ImportFrom(self, node: ast.ImportFrom) -> None:
        base = from_where(self.module, node)
        self.said.imported |= {f"{base}.{alias.name}" for alias in node.names}

    def visit_Import(self, node: ast.Import) -> None:
        self.said.imported |= {alias.name for alias in node.names}

    def is_local(self, name: str) -> bool:
        """Bound by a function around: a parameter or a variable that has the same name."""
        return any(name in bound_in(each) for each in self.around)


_bound: dict[Def, frozenset[str]] = {}


def bound_in(function: Def) -> frozenset[str]:
    if function not in _bound:
        a = function.args
        given = [*a.posonlyargs, *a.args, *a.kwonlyargs, a.vararg, a.kwarg]
        stored = {
            node.id
            for node in ast.walk(function)
            if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)
        }
        _bound[function] = frozenset(stored | {each.arg for each in given if each})
    return _bound[function]


def kind_of(node: Def, holder: ast.ClassDef | Def | None) -> str:
    decorators = {ast.unparse(each).split("(")[0].split(".")[-1] for each in node.decorator_list}
    if re.fullmatch(r"__\w+__", node.name):
        return "hook"
    if decorators - HARMLESS:
        return "decorated"
    if isinstance(holder, ast.ClassDef):
        is_protocol = any("Protocol" in ast.unparse(base) for base in holder.bases)
        return "hook" if is_protocol or overrides(node) else "method"
    return "nested" if holder is not None else "of a module"


def overrides(node: Def) -> bool:
    """It calls the one it stands for, so the class above calls it too."""
    return any(
        isinstance(inner, ast.Attribute)
        and inner.attr == node.name
        and ast.unparse(inner.value).startswith("super(")
        for inner in ast.walk(node)
    )


class Callers:
    """The functions of the product, each with its uses."""

    def __init__(self, source: Source) -> None:
        self.source = source
        self.readers = {module.name: Reader(module) for module in source.modules}
        for reader in self.readers.values():
            reader.visit(reader.module.tree)

    def functions(self) -> Iterator[Function]:
        for reader in self.readers.values():
            for node, kind, in_class in reader.found:
                yield Function(reader.module, node, kind, self.one_use(reader, node, in_class))

    def one_use(self, reader: Reader, node: Def, in_class: bool) -> str:
        uses = self.uses_of(reader, node, in_class)
        if len(uses) != 1:
            return ""
        return "called" if uses[0].is_call else "passed"

    def uses_of(self, reader: Reader, node: Def, in_class: bool) -> list[Use]:
        """Those in its own file; none where it may be used elsewhere as well."""
        said, name = reader.said, node.name
        if any(name == each.name and each is not node for each, _, _ in reader.found):
            return []  # two of that name in one file: nobody knows which is meant
        if (
            self.is_method_used_elsewhere(reader, name)
            if in_class
            else self.is_used_outside(reader.module.name, name)
        ):
            return []
        found = [*said.names[name], *(said.attributes[name] if in_class else [])]
        return [use for use in found if node not in use.inside and not use.on_super]

    def is_method_used_elsewhere(self, reader: Reader, name: str) -> bool:
        others = (each.said for each in self.readers.values() if each is not reader)
        return (
            self.methods[name] > 1
            or name in self.template_words
            or any(name in each.said.strings for each in self.readers.values())
            or any(each.attributes.get(name) for each in others)
        )

    def is_used_outside(self, module: str, name: str) -> bool:
        return any(
            f"{module}.{name}" in reader.said.imported
            or f"{module}.{name}" in reader.said.strings
            or (module in reader.said.imported and reader.said.attributes.get(name))
            for other, reader in self.readers.items()
            if other != module
        )

    @cached_property
    def methods(self) -> Counter[str]:
        found = (each for reader in self.readers.values() for each in reader.found)
        return Counter(node.name for node, _, in_class in found if in_class)

    @cached_property
    def template_words(self) -> set[str]:
        return set(re.findall(r"\w+", self.source.template_text))
