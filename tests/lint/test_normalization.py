"""Only agents/normalization.py calls what puts combining marks in order: it bounds them before."""

import ast
import re

from tests.lint.test_layers import ROOT

NORMALIZING = {"normalize", "is_normalized", "urlsplit", "urlparse", "urljoin", "slugify"}


def named(node):
    function = node.func
    return getattr(function, "id", getattr(function, "attr", ""))


def test_one_module_normalizes_and_no_other():
    for layer in ("agents", "plans", "console"):
        for path in (ROOT / layer).rglob("*.py"):
            if path.match("agents/normalization.py"):
                continue
            calls = [n for n in ast.walk(ast.parse(path.read_text())) if isinstance(n, ast.Call)]
            used = {named(call) for call in calls if named(call) in NORMALIZING}
            if path.match("console/markdown.py"):  # its addresses are bounded
                used -= {"normalize"}
            assert not used, path
    for path in (ROOT / "templates").rglob("*.html"):
        assert not re.search(r"truncatechars|\|slugify|urlize", path.read_text()), path
