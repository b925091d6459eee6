"""Tests name inner modules of the product in tests/inner.py alone; its docstring says which are not inner.

Benchmarks and what runs with the software of others have commands of their own: neither
`make test` nor the night runs them.
"""

import ast
import re

from tests import inner
from tests.lint.test_layers import ROOT

APPS = {"agents", "plans", "console"}
OPEN = set(re.findall(r"`(\w+\.\w+)`", inner.__doc__))
TESTS = ROOT / "tests"
# The settings are read before there is a model that inner.py could import.
EXEMPT = {TESTS / "inner.py", TESTS / "settings.py"}
ELSEWHERE = {"benchmarks", "real"}


def inner_imports(source):
    """The inner modules that it imports, also within functions, with their lines."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            modules = [name.name for name in node.names]
        elif isinstance(node, ast.ImportFrom):
            of_app = node.module in APPS
            modules = [f"{node.module}.{n.name}" for n in node.names] if of_app else [node.module]
        else:
            continue
        for module in modules:
            if module and module.split(".")[0] in APPS and module not in OPEN:
                yield node.lineno, module


def test_an_import_of_an_inner_module_is_noticed_wherever_it_stands():
    source = """
import agents.queue.worker
from agents import http, search
from agents.models import Turn
from plans import actions as verbs
from tests.inner import search
def test_one():
    from console.ops.doctor import findings
    import console.urls
    from . import agents
"""
    assert list(inner_imports(source)) == [
        (2, "agents.queue.worker"),
        (3, "agents.search"),
        (8, "console.ops.doctor"),
    ]


def test_tests_name_inner_modules_in_one_file():
    found = [
        f"{path.relative_to(ROOT)}:{line} imports {module}: name it in tests/inner.py"
        for path in sorted(TESTS.rglob("*.py"))
        if path not in EXEMPT and path.relative_to(TESTS).parts[0] not in ELSEWHERE
        for line, module in inner_imports(path.read_text())
    ]
    assert found == []
