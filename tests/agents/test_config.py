import json
import os
import threading

import pytest
from hypothesis import given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from agents.errors import Conflict, Invalid, NotFound, Stale
from tests.inner import (
    change_agent,
    copy_agent,
    create_agent,
    list_agents,
    patched,
    read_agent,
    replace_agent_text,
)
from tests.inner import config_store as agent_file
from tests.inner import store_delete_agent as delete_agent

pytestmark = pytest.mark.django_db  # whose file it is decides what may stand in it

BY_HAND = """{
    "id": "bob",
    "name": "Bob",   "model": "qwen3:8b", "provider": "ollama",
    "tools": {"read_file": "allow", "shell": "ask"},
    "always_allow": [{"tool": "shell", "arguments": {"command": "npm run lint"}}],
    "x-note": {"ratio": 1.50, "big": 12345678901234567890, "word": "caf\\u00e9", "list": [1,  2]},
    "plan": {"enabled": false, "confirm": "create"}
}
"""


@pytest.fixture(autouse=True)
def home(tmp_path, settings):
    settings.PLANSIDE_HOME = tmp_path / "home"
    return tmp_path / "home"


@pytest.fixture
def bob(home):
    """The agent.json of bob, as a person wrote it."""
    path = home / "workspaces" / "bob" / "agent.json"
    path.parent.mkdir(parents=True)
    path.write_text(BY_HAND)
    return path


def problem_of(bob, text):
    read_agent("bob")  # so that there is a last good version
    bob.write_text(text)
    return read_agent("bob").problem


# Reading


def test_an_agent_is_read_as_its_file_describes_it(bob):
    record = read_agent("bob")
    assert (record.id, record.path, record.problem) == ("bob", bob, None)
    assert record.text == BY_HAND
    assert record.file.plan.confirm == "create" and record.file.plan.max_attempts == 3
    assert record.file.always_allow[0].arguments == {"command": "npm run lint"}


def test_what_is_not_listed_is_not_granted_and_plan_mode_is_off(home):
    record = create_agent("alice", {"name": "Alice"})
    assert record.file.tools == {} and not record.file.plan.enabled


def test_a_file_may_say_nothing_but_what_it_must(bob):
    bob.write_text("{}")
    record = read_agent("bob")
    assert (record.file.id, record.file.name) == ("bob", "bob")
    assert (record.file.provider, record.file.model) == ("demo", "docs")


def test_an_unchanged_file_is_not_read_again(bob):
    assert read_agent("bob") is read_agent("bob")


def test_a_hand_edit_counts_from_the_next_read_on(bob):
    for number in range(50):
        bob.write_text(BY_HAND.replace("qwen3:8b", f"m{number:02}"))
        assert read_agent("bob").file.model == f"m{number:02}"


@pytest.mark.parametrize(
    "agent_id", ["../x", "", "a" * 200, "Bob", ".trash", "a/b", "bob\n", "b\0", "..", "é", "-a"]
)
def test_an_odd_id_is_no_agent_and_never_becomes_a_path(bob, home, agent_id):
    for act in (read_agent, delete_agent, lambda odd: change_agent(odd, {"name": "x"})):
        with pytest.raises(NotFound):
            act(agent_id)
    with pytest.raises(Invalid, match="small letters"):
        create_agent(agent_id, {})
    with pytest.raises(Invalid, match="small letters"):
        copy_agent("bob", agent_id)
    assert list((home / "workspaces").iterdir()) == [bob.parent]


def test_agents_are_listed_by_name_and_other_folders_are_not_agents(bob, home):
    create_agent("zoe", {"name": "alice"})
    create_agent("al", {"name": "Charlie"})
    (home / "workspaces" / "empty").mkdir()
    (home / "workspaces" / "UPPER").mkdir()
    (home / "workspaces" / "note.txt").touch()
    assert [record.id for record in list_agents()] == ["zoe", "bob", "al"]


def test_without_a_home_there_are_no_agents(home):
    assert list_agents() == []


def test_a_file_deleted_while_running_takes_the_agent_away(bob):
    read_agent("bob")
    bob.unlink()
    with pytest.raises(NotFound, match='no agent "bob"'):
        read_agent("bob")
    assert list_agents() == []
    bob.write_text(BY_HAND)
    assert read_agent("bob").problem is None


# Broken files


def test_a_broken_file_leaves_the_last_good_version_in_use(bob):
    read_agent("bob")
    bob.write_text(BY_HAND.replace('"ollama",', '"ollama"'))
    record = read_agent("bob")
    assert record.problem == "Line 3: a comma is missing. The last good version is still in use."
    assert record.problem_line == 3 and record.file.model == "qwen3:8b"
    assert '"ollama"\n' in record.text


def test_a_file_that_never_was_good_grants_nothing(bob):
    bob.write_text("{")
    record = read_agent("bob")
    assert "no good version" in record.problem and record.file.tools == {}
    assert record.file.name == "bob"


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "Line 1: the file is empty."),
        ("[]", "Line 1: an agent is an object"),
        ('{\n  "name": "Bob"\n  "model": "x"\n}', "Line 2: a comma is missing."),
        ('{\n  "name": "Bob",\n}', "Line 2: the comma before } is one too many."),
        ('{\n  "name": "Bob,\n  "model": "x"\n}', "Line 2: a quotation mark is missing."),
        ('{\n  "name" "Bob"\n}', "Line 2: a colon is missing."),
        ('{\n  // mine\n  "name": "Bob"\n}', "Line 2: JSON knows no comments."),
        ('{\n  "name": "Bob"', "Line 2: the file ends too early"),
        ('{\n  "name": Bob\n}', "Line 2: a value is missing or misspelt."),
        ('{\n  "name": "a",\n  "name": "b"\n}', 'Line 3: the key "name" is there twice.'),
        ('{\n  "temperature": NaN\n}', "Line 2: NaN is not a JSON value."),
        ('{\n  "mine": 1e999\n}', "Line 2: 1e999 is too large a number."),
        ('{"x": ' + "[" * 10_000, "nested too deeply"),
        ('{"x": ' + "[" * 100_000, "it has more than 20,000 values"),
        ('{\n "x": ' + "9" * 5_000 + "}", "Line 2: a number has too many digits."),
        ('{\n  "id": "alice"\n}', 'Line 2: id is "alice", but the folder is named "bob".'),
        (
            '{\n  "plan": {\n    "enabled": "yes"\n  }\n}',
            'Line 3: plan.enabled must be true or false, not "yes".',
        ),
        (
            '{\n  "tools": {\n    "shell": "on"\n  }\n}',
            "Line 3: tools.shell must be 'allow', 'ask', 'off'",
        ),
        ('{\n  "tools": {"shell": "read"}\n}', "only plan.tools can be"),
        (
            '{\n  "always_allow": [\n    {"arguments": {}}\n  ]\n}',
            "Line 3: always_allow[0].tool is missing.",
        ),
        (
            '{"plan": {"max_attempts": 0}}',
            "plan.max_attempts must be greater than or equal to 1, not 0.",
        ),
        (
            '{"plan": {\n"context_template": "{{.title}} {{.titel}}"}}',
            "Line 2: plan.context_template cannot say {{.titel}}: a plan has {{.title}}, {{.ver",
        ),
        ('{\n"name": ""}', "Line 2: name must not be empty."),
        ('{\n"name": "  "}', "Line 2: name must not be blank."),
        ('{\n"name": "\\u200d"}', "Line 2: name must not be blank."),
        ('{"name": "a\\tb"}', "name must not have characters that cannot be seen, such as a tab."),
        ('{"name": "a\\u202eb"}', "name must not have characters that cannot be seen"),
        ('{"name": "%s"}' % ("x" * 10_000), "name must have at most 100 characters."),
        ('{"name": 7}', "name must be text in quotation marks, not 7."),
        ('{"name": "\\ud800"}', "half characters"),
        ('{\n"x": "a\\u0000b"}', "Line 2: \\u0000 stands for no character."),
        ('{"budget": {"tokens": 1.5}}', "budget.tokens must be a whole number"),
    ],
)
def test_a_problem_is_one_sentence_with_the_line_and_the_reason(bob, text, says):
    problem = problem_of(bob, text)
    assert says in problem and problem.endswith(" The last good version is still in use.")
    problem.encode()


def test_an_escaped_backslash_before_u0000_is_just_text(bob):
    assert problem_of(bob, '{"description": "\\\\u0000"}') is None


def test_bytes_that_are_no_text_are_a_problem_with_a_line(bob):
    read_agent("bob")
    bob.write_bytes(b'{\n"name": "\xff"\n}')
    assert read_agent("bob").problem.startswith("Line 2: this is not UTF-8 text.")


def test_a_byte_order_mark_is_no_problem(bob):
    bob.write_bytes(b"\xef\xbb\xbf" + BY_HAND.encode())
    assert read_agent("bob").problem is None
    assert change_agent("bob", {"model": "m"}).file.model == "m"


def test_a_huge_file_a_folder_and_a_pipe_are_problems_that_block_nothing(bob):
    read_agent("bob")
    bob.write_text(json.dumps({"x": "y" * 5_000_000}))
    assert "larger than 1,000,000 bytes" in read_agent("bob").problem
    bob.unlink()
    bob.mkdir()
    assert "not an ordinary file" in read_agent("bob").problem
    bob.rmdir()
    os.mkfifo(bob)
    record = read_agent("bob")
    assert "not an ordinary file" in record.problem and record.file.model == "qwen3:8b"


def test_a_broken_last_good_version_is_not_used_either(bob):
    read_agent("bob")
    bob.with_name(".agent.last-good.json").write_text("{")
    bob.write_text("[")
    assert "no good version" in read_agent("bob").problem


# Changing


@pytest.mark.parametrize("indent", [2, 4, "\t", 0, None])
def test_a_change_alters_its_key_and_keeps_the_indent(bob, indent):
    laid_out = json.dumps(json.loads(BY_HAND), indent=indent, ensure_ascii=False) + "\n"
    bob.write_text(laid_out)
    record = change_agent("bob", {"plan": {"enabled": True}})
    assert record.text == laid_out.replace('"enabled": false', '"enabled": true')
    assert record.file.plan.enabled and bob.read_text() == record.text


def test_a_change_keeps_every_value_and_the_order_of_what_it_is_not_about(bob):
    grants = [
        grant.model_dump(exclude_defaults=True) for grant in read_agent("bob").file.always_allow
    ]
    new = {"tool": "fetch_url", "arguments": {"url": "http://x/"}}
    record = change_agent("bob", {"always_allow": [*grants, new]})
    before, after = json.loads(BY_HAND), json.loads(record.text)
    assert after.pop("always_allow") == [*before.pop("always_allow"), new]
    assert (after, list(after)) == (before, list(before))
    assert record.file.always_allow[1].tool == "fetch_url"
    assert '"big": 12345678901234567890' in record.text


def test_a_change_that_changes_nothing_leaves_the_text_to_the_letter(bob):
    assert change_agent("bob", {"model": "qwen3:8b", "vars": None}).text == BY_HAND


def test_null_takes_a_key_away_and_the_default_returns(bob):
    record = change_agent(
        "bob", {"plan": {"confirm": None}, "always_allow": None, "not there": None}
    )
    assert "confirm" not in record.text and "always_allow" not in record.text
    assert record.file.plan.confirm == "always"


def test_windows_line_ends_and_a_tab_indent_are_kept(bob):
    bob.write_bytes(b'{\r\n\t"name": "Bob"\r\n}\r\n')
    assert (
        change_agent("bob", {"model": "m"}).text
        == '{\r\n\t"name": "Bob",\r\n\t"model": "m"\r\n}\r\n'
    )


@pytest.mark.parametrize(
    ("patch", "says"),
    [
        (
            {"plan": {"confirm": "maybe"}},
            "plan.confirm must be 'always', 'create' or 'never', not \"maybe\".",
        ),
        ({"id": "alice"}, 'id is "alice"'),
        ({"tools": {"shell": True}}, "tools.shell must be"),
        ({"workspace": "/no/such/folder"}, "workspace: /no/such/folder is not a folder."),
        ({"workspace": "docs"}, "whole path"),
        ({"temperature": float("nan")}, "not a JSON value"),
        ({"x": {1, 2}}, "not a JSON value"),
        ({"name": "\ud800"}, "not a JSON value"),
        ({"x": "y" * 2_000_000}, "larger than"),
    ],
)
def test_a_bad_change_is_refused_by_key_and_leaves_the_file_alone(bob, patch, says):
    with pytest.raises(Invalid) as refused:
        change_agent("bob", patch)
    assert says in str(refused.value) and "Line" not in str(refused.value)
    assert bob.read_text() == BY_HAND


def test_a_change_of_what_somebody_else_changed_meanwhile_is_stale(bob):
    digest = read_agent("bob").digest
    change_agent("bob", {"model": "m"}, digest)
    with pytest.raises(Stale):
        change_agent("bob", {"model": "n"}, digest)
    with pytest.raises(Stale):
        replace_agent_text("bob", "{}", digest)
    assert read_agent("bob").file.model == "m"


def test_a_broken_file_is_not_patched_but_may_be_replaced(bob):
    problem_of(bob, "{")
    with pytest.raises(Conflict, match="mended first"):
        change_agent("bob", {"model": "m"})
    with pytest.raises(Conflict):
        copy_agent("bob", "alice")
    assert replace_agent_text("bob", BY_HAND, read_agent("bob").digest).problem is None


def test_a_raw_edit_is_kept_to_the_letter_or_refused_with_its_line(bob):
    text = '{"name":\n  "Robert" }'
    assert replace_agent_text("bob", text.replace("\n", "\r\n")).text == text
    with pytest.raises(Invalid, match=r"^Line 2: a comma is missing\.$"):
        replace_agent_text("bob", '{\n"name": "x"\n"id": "bob"}')
    with pytest.raises(Invalid, match="not a folder"):
        replace_agent_text("bob", '{"workspace": "/no/such"}')
    assert bob.read_text() == text


def test_the_file_keeps_its_mode_and_a_link_stays_a_link(bob, tmp_path):
    real = tmp_path / "dotfiles.json"
    bob.rename(real)
    real.chmod(0o640)
    bob.symlink_to(real)
    change_agent("bob", {"model": "m"})
    assert bob.is_symlink() and json.loads(real.read_text())["model"] == "m"
    assert real.stat().st_mode & 0o777 == 0o640


def test_writes_at_the_same_time_are_all_kept(bob):
    def grow(name):
        for number in range(10):
            change_agent("bob", {"tools": {f"{name}{number}": "ask"}})

    threads = [threading.Thread(target=grow, args=(name,)) for name in "abcd"]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(read_agent("bob").file.tools) == 42


def test_no_temporary_files_are_left_behind(bob):
    change_agent("bob", {"model": "m"})
    with pytest.raises(Invalid):
        change_agent("bob", {"model": 1})
    assert {path.name for path in bob.parent.iterdir()} == {".agent.last-good.json", "agent.json"}


# The patch itself

values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters(exclude_categories=["Cs"]), max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from("abcd"), inner, max_size=3)
    ),
    max_leaves=12,
)
objects = st.dictionaries(st.sampled_from("abcd"), values, max_size=4)


def merged(target, patch):
    """RFC 7396, as it is written there."""
    if not isinstance(patch, dict):
        return patch
    target = dict(target) if isinstance(target, dict) else {}
    for key, value in patch.items():
        if value is None:
            target.pop(key, None)
        else:
            target[key] = merged(target.get(key), value)
    return target


@given(objects, objects, st.sampled_from([None, 2, "\t"]))
@hypothesis_settings(max_examples=300, deadline=None)
def test_a_patch_of_the_text_is_a_merge_patch_of_the_value(before, patch, indent):
    text = "\n " + json.dumps(before, indent=indent) + " \n"
    after = patched(text, patch)
    assert json.loads(after) == merged(before, patch)
    assert list(json.loads(after)) == [
        key for key in [*before, *(k for k in patch if k not in before)] if key in json.loads(after)
    ]
    assert patched(after, patch) == after


def test_the_cache_forgets_what_is_gone(bob):
    read_agent("bob")
    bob.unlink()
    with pytest.raises(NotFound):
        read_agent("bob")
    assert bob not in agent_file.cached_records


def test_what_is_written_as_an_escape_does_not_become_an_invisible_character():
    text = r'{"always_allow": ["shell:ls\u200b -la"], "name": "nur' + "\u200c" + r'a"}'
    after = patched(text, {"description": "new\u202e\U000e0041"})
    assert r"ls\u200b -la" in after
    assert "nur\u200ca" in after, "what is there as a character stays one"
    assert r'"new\u202e\udb40\udc41"' in after
    assert json.loads(after)["description"] == "new\u202e\U000e0041"
