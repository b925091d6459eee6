"""What stands in the code for several subtasks at once; how they run: tests/plans/test_side_by_side.py."""

import ast
import inspect
import re
import textwrap
from pathlib import Path

from plans import actions
from plans.models import Plan
from tests.inner import Verb, run_turns_of

ROOT = Path(__file__).parents[2]
SOURCES = [
    path for path in sorted((ROOT / "plans").rglob("*.py")) if "migrations" not in path.parts
]
LOCKS = {"lock_plan", "plan_of", "lock_active_plan", "lock_conversation", "locked"}
# What a verb may do before: look at its arguments, or call another verb, which locks.
CHECKS = {"demand_substance", "demand_no_child", "end_everything", "settle", "interrupt_attempt"}
CHECKS |= {"cancel_plan"}
# What they read of files is read anew under the lock of the folder's store.
OF_FILES = {"preview_changes", "retry_clean", "undo_changes"}


def calls_in(source):
    """The names of all functions that are called, in the order in which they stand."""
    calls = [node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Call)]
    calls.sort(key=lambda node: (node.lineno, node.col_offset))
    return [ast.unparse(node.func) for node in calls]


def test_one_function_says_what_may_begin():
    by_position = re.compile(r"State\.TODO\)[\s)]*(\.order_by\([^)]*\))?\.(first|last)\(|next_todo")
    chosen = [path.name for path in SOURCES if by_position.search(path.read_text())]
    assert chosen == []
    places = [path.name for path in SOURCES if "[:WIDTH]" in path.read_text()]
    assert places == ["queries.py"]


def test_no_function_takes_the_first_turn_of_a_run():
    first_of_run = re.compile(r"run_turns_of\([^)]*\)(\[0\]|\.first)|Lane\.RUN[^\n]*\.first\(\)")
    assert [path.name for path in SOURCES if first_of_run.search(path.read_text())] == []
    assert inspect.signature(run_turns_of).return_annotation == "list[Turn]"


def test_a_verb_locks_the_conversation_before_it_reads():
    public = {name: verb for name, verb in vars(actions).items() if callable(verb)}
    verbs = {name: reads_of(verb) for name, verb in public.items() if name not in OF_FILES}
    assert "approve_plan" in verbs
    unlocked = {name: reads for name, reads in verbs.items() if not {*reads[:1]} & (LOCKS | CHECKS)}
    assert unlocked == {}


def reads_of(verb):
    """The calls by which it locks, checks or reads rows, in their order."""
    source = textwrap.dedent(inspect.getsource(inspect.unwrap(verb)))
    body = source[source.index("def ") :]
    called = [each for each in calls_in(body) if each.split(".")[0] not in ("Invalid", "Conflict")]
    reads = [each for each in called if each in LOCKS | CHECKS or "objects" in each]
    is_locked = isinstance(verb, Verb) and "plan" in inspect.signature(verb).parameters
    return ["lock_plan", *reads] if is_locked else reads


def test_the_ids_within_a_subtask_carry_its_key():
    parts, todo, without = set(), {"_subtask.html"}, []
    while todo:
        name = todo.pop()
        parts.add(name)
        text = (ROOT / "templates" / "plans" / name).read_text()
        included = set(re.findall(r'include "plans/(\w+\.html)"', text))
        todo |= included - parts
        own = {"row.key", "{{ call }}", "{{ button.id }}"}  # a call, and a button, has its own
        own |= {f"add:{word}" for word in re.findall(r"\b(\w+)=row\|id_within:", text)}
        own |= {f"{{{{ {word[4:]} }}}}" for word in own if word.startswith("add:")}
        ids = re.findall(r'\bid=("[^"]*"(?: key=)?\S*)', text)
        without += [f"{name}: {id}" for id in ids if not any(each in id for each in own)]
    assert without == []
    assert {"_activity.html", "_failed.html", "_row.html"} <= parts


def test_the_gate_is_a_pure_function():
    """It imports nothing of ours; marking a turn as gated is its caller's."""
    tree = ast.parse((ROOT / "plans" / "gate.py").read_text())
    modules = [node.module for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)]
    assert modules == ["__future__", "dataclasses", "enum"]
    policy = calls_in((ROOT / "plans" / "policy.py").read_text())
    writes = ("save", "checkpoint", "update", "create", "store", "execute")
    assert [each for each in policy if each.split(".")[-1] in writes] == []


def test_a_question_is_no_column_of_the_plan():
    assert "question" not in {field.name for field in Plan._meta.get_fields()}
