"""Every sentence that the console's Python says to a person can be translated.

The API, the shell's commands, logs and metrics speak English.
"""

import ast
import re

from tests.messages import KEYWORDS, ROOT

CONSOLE = ROOT / "console"
IN_ENGLISH = {"api", "management", "migrations", "ops", "serving"}
# What a server says on its own terminal, and settings that refuse to start.
ON_A_TERMINAL = {"env.py", "home.py", "settings.py", "static_files.py"}
A_SENTENCE = re.compile(r"[A-Z“][a-z]+( |[.…?!]$)")
# Names of products and keys, and what is compared with what a model reads.
SAME_EVERYWHERE = re.compile(
    r"Samsung Internet|(Ctrl|Alt|Shift) .+|The person answered: |It could not be asked\.|"
    r"Only admins may change \{}\."
)


def untranslated(source):
    """Sentences outside of docstrings and of calls of gettext, with their lines."""
    tree = ast.parse(source)
    translated = {
        part
        for call in ast.walk(tree)
        if isinstance(call, ast.Call) and getattr(call.func, "id", "") in KEYWORDS
        for part in ast.walk(call)
    }
    docstrings = {node.value for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    pieces = {
        piece for node in ast.walk(tree) if isinstance(node, ast.JoinedStr) for piece in node.values
    }
    for node in ast.walk(tree):
        if node in translated or node in docstrings or node in pieces:
            continue
        text = text_of(node)
        if A_SENTENCE.match(text) and not SAME_EVERYWHERE.fullmatch(text):
            yield node.lineno, text


def text_of(node):
    """Of a string, with {} for what is put into it; empty for all else."""
    if isinstance(node, ast.Constant):
        return node.value if isinstance(node.value, str) else ""
    if isinstance(node, ast.JoinedStr):
        return "".join(
            text_of(piece) if isinstance(piece, ast.Constant) else "{}" for piece in node.values
        )
    return ""


def test_what_stands_in_one_language_only_is_noticed():
    source = '''
def refuse(name):
    """No text."""
    raise Invalid("Give the agent a name.")
    raise Invalid(f"There is no {name}.")
    raise Invalid(gettext("There is no {name}.").format(name=name))
'''
    assert list(untranslated(source)) == [
        (4, "Give the agent a name."),
        (5, "There is no {}."),
    ]


def test_every_sentence_of_the_console_can_be_translated():
    found = [
        (str(path.relative_to(ROOT)), *each)
        for path in CONSOLE.rglob("*.py")
        if path.name not in ON_A_TERMINAL and not IN_ENGLISH & set(path.relative_to(CONSOLE).parts)
        for each in untranslated(path.read_text())
    ]
    assert found == []
