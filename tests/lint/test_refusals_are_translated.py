"""Whatever is refused is told in the reader's language: no sentence of an error for a person is
written outside gettext."""

import ast
from collections.abc import Iterator
from functools import cache

from tests.messages import ROOT

# Who reads English there.
ALLOWED = {
    "agents/queue/leases.py": "whoever starts a command",
    "agents/run_once.py": "commands and the API",
    "agents/tools/integrations/openapi/addresses.py": "part of the parser",
    "agents/tools/integrations/openapi/operations.py": "part of the parser",
    "agents/tools/integrations/openapi/parser.py": "a process of its own, without Django",
    "agents/tools/integrations/openapi/schemas.py": "part of the parser",
    "agents/tools/integrations/openapi/swagger.py": "part of the parser",
    "plans/subplans.py": "the model that called an agent",
    "console/api/": "scripts",
    "console/auth/admins.py": "scripts, which are told what for",
    "console/home.py": "whoever starts a command",
    "console/management/": "whoever types a command",
    "console/ops/": "whoever types a command",
    "console/serving/": "whoever starts the server",
}


FOLDERS = ("agents", "plans", "console")


def family(*names: str) -> set[str]:
    """These classes and all that are made from them, wherever they stand."""
    classes = [
        node
        for folder in FOLDERS
        for path in (ROOT / folder).rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.ClassDef)
    ]
    found, before = set(names), set()
    while found != before:
        before = set(found)
        found |= {each.name for each in classes if found & {name_of(base) for base in each.bases}}
    return found


def name_of(node: ast.expr) -> str:
    return getattr(node, "id", "") or getattr(node, "attr", "")


@cache
def errors() -> set[str]:
    return family("Refused", "TurnFailed", "ModelError", "BadFile", "Fault")


def bare_texts(source: str) -> Iterator[tuple[int, str]]:
    """Line and text of what an error is made with and no catalog knows: in the call itself, or
    under the name of a variable."""
    tree = ast.parse(source)
    functions = (ast.FunctionDef, ast.AsyncFunctionDef)
    own = texts_assigned(tree.body)
    for scope in (tree, *(node for node in ast.walk(tree) if isinstance(node, functions))):
        known = own if scope is tree else own | texts_assigned(ast.walk(scope))
        for call in ast.walk(scope):
            if isinstance(call, ast.Call) and name_of(call.func) in errors():
                for given in (*call.args, *(keyword.value for keyword in call.keywords)):
                    text = known.get(given.id, given) if isinstance(given, ast.Name) else given
                    if is_sentence(text):
                        yield call.lineno, ast.unparse(text)


def texts_assigned(nodes) -> dict[str, ast.expr]:
    """The sentences among what is assigned, by the names of the variables."""
    return {
        target.id: node.value
        for node in nodes
        if isinstance(node, ast.Assign) and is_sentence(node.value)
        for target in node.targets
        if isinstance(target, ast.Name)
    }


def is_sentence(node: ast.expr) -> bool:
    """A text with words in it, unlike a path or a key."""
    if isinstance(node, ast.Call) and name_of(node.func) in ("format", "strip", "rstrip"):
        node = getattr(node.func, "value", node)
    parts = node.values if isinstance(node, ast.JoinedStr) else [node]
    texts = [part.value for part in parts if isinstance(part, ast.Constant)]
    written = "".join(text for text in texts if isinstance(text, str))
    return " " in written.strip() and any(map(str.isalpha, written))


def test_no_error_that_a_person_reads_is_written_outside_gettext():
    found = []
    for path in sorted(path for folder in FOLDERS for path in (ROOT / folder).rglob("*.py")):
        name = str(path.relative_to(ROOT))
        if not any(name.startswith(allowed) for allowed in ALLOWED):
            found += [f"{name}:{line}: {text}" for line, text in bare_texts(path.read_text())]
    assert not found, "\n".join(dict.fromkeys(found))


def test_each_place_that_may_still_exists():
    assert [path for path in ALLOWED if not (ROOT / path).exists()] == []


def test_a_sentence_without_a_translation_is_found():
    sources = [
        'raise Conflict("The plan is running.")',
        'raise Conflict(f"There is no plan {plan}.")',
        'raise Conflict("There is no plan {plan}.".format(plan=plan))',
        'raise TurnFailed("logic", "It took too long.")',
        'GONE = "It is gone."\ndef get():\n    raise errors.NotFound(GONE)',
        'def get(key):\n    sentence = f"There is no {key}."\n    raise NotFound(sentence)',
        'raise TurnFailed("logic", gettext("It failed."), title="It did not work")',
    ]
    assert [source for source in sources if not list(bare_texts(source))] == []


def test_what_is_translated_or_for_a_model_is_left_alone():
    sources = [
        'raise Conflict(gettext("There is no plan {plan}.").format(plan=plan))',
        'raise TurnFailed("logic", gettext("It took too long."))',
        'raise ToolFailed("There is no plan yet.")',
        "raise Conflict(str(refusal))",
    ]
    assert [source for source in sources if list(bare_texts(source))] == []
