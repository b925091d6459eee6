"""Every door of Planside is on a list, and is tried in the ways in which the newest one was forgotten.

The list is doors.txt beside this file. What is a door comes from the table of addresses, the document
of the API, the tools, the commands and the sockets.
"""

import json
import re
import shutil
from functools import cache
from pathlib import Path
from urllib.parse import quote

import pytest
from django.conf import settings
from django.core.management import get_commands, load_command_class
from django.core.management.base import BaseCommand

from console import asgi
from tests.cli import run_command
from tests.console import test_expected_version as versions
from tests.inner import BASE_PLAN_TOOLS as PLAN_TOOLS
from tests.inner import SERVER_TOOLS, file_tools
from tests.security import test_bodies as bodies
from tests.security import test_isolation as isolation
from tests.security.addresses import operations, pages
from tests.security.hostile_names import HOSTILE, WAYS_OUT
from tests.world import ALL_FILE_TOOLS

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("nobody_answers")]

world, alice, bob = isolation.world, isolation.alice, isolation.bob
TOOLS = [
    f"tool {name}"
    for name in (
        *ALL_FILE_TOOLS,
        *SERVER_TOOLS,
        *PLAN_TOOLS,
        "fetch_url",
        "run_agent",
        "search_tools",
    )
]


@cache
def listed():
    """What stands on the list: by door, what must have been seen and which names it takes."""
    lines = (Path(__file__).parent / "doors.txt").read_text().splitlines()
    rows = [line.rsplit(maxsplit=2) for line in lines if line and line[0] != "#"]
    assert len(rows) == len({door for door, *_ in rows}), "a door is on the list twice"
    return {door: (sees, names.split(",") * (names != "-")) for door, sees, names in rows}


def commands():
    """`plan approve`, `doctor`: each command with each of its verbs."""
    for name in (each for each, app in get_commands().items() if app == "console"):
        command = load_command_class("console", name)
        assert isinstance(command, BaseCommand)
        parser = command.create_parser("manage.py", name)
        verbs = [each.choices for each in parser._actions if each.dest == "verb"]
        yield from [f"{name} {verb}" for verb in verbs[0]] if verbs else [name]


def doors():
    yield from map(str, pages())
    yield from map(str, operations())
    yield from TOOLS
    yield from (f"manage.py {words}" for words in commands())
    yield from (f"socket {route.pattern}" for route in asgi.routes)


def test_every_door_is_on_the_list():
    found = set(doors())
    assert found - set(listed()) == set(), "say in doors.txt what they must have seen, and take"
    assert set(listed()) - found == set(), "they are no doors any more"


def test_each_door_that_must_name_a_version_is_tried_with_another_one():
    """Where the plan is in a state in which nothing else refuses it."""
    tried = [f"c/<int:pk>/plan/{path}" for path, *_ in versions.NEEDS_VERSION]
    tried += [f"{method.upper()} /api/plans/{{id}}{path}" for method, path, *_ in versions.IF_MATCH]
    of_one = [each for each, (sees, _) in listed().items() if sees in ("version", "if-match")]
    places = {"<slug:key>": "s[0-9]", r"\{key\}": "s[0-9]", r"\{check\}": "c1", r"\{id\}": ".id."}
    places["<slug:check>"] = "c1"
    for door in set(of_one) - ELSEWHERE:
        pattern = re.escape(door)
        for place, value in places.items():
            pattern = pattern.replace(place, value)
        assert any(re.fullmatch(pattern, each) for each in tried), f"{door}: {VERSIONS}"


VERSIONS = "put it into the lists of tests/console/test_expected_version.py"
# They name it in the body, in the same file; or as commands, in tests/console/test_plan_command.py.
ELSEWHERE = {"POST /api/plans/{id}/approve", "POST /api/plans/{id}/subtasks/{key}/look"}
ELSEWHERE |= {"POST /api/plans/{id}/subtasks/{key}/take-back"}
ELSEWHERE |= {"POST /api/plans/{id}/subtasks/{key}/checks/{check}/take"}
COMMANDS = ("approve", "run", "next", "retry", "resume", "take-out-of-force")
ELSEWHERE |= {f"manage.py plan {verb}" for verb in COMMANDS}


# Names


CANARY = "canary-of-the-doors"
SLUG = "[a-z0-9]+([-_][a-z0-9]+)*"
OF_FILES = ("path", "paths", "folder", "name", "to", "deleted", "restore")
# What she may make: an agent's folder, a chain's file, a lock for either.
MAY_COME = ("workspaces", "chains", "locks", "services")


@pytest.fixture
def outside(alice, tmp_path_factory, settings):
    """Canaries in each folder around alice's workspace, and elsewhere; links within that lead there."""
    elsewhere = tmp_path_factory.mktemp("outside")
    folder = workspace_of(alice)
    places = [elsewhere, *list(folder.parents)[:3]]
    for each in places:
        (each / "secret.txt").write_text(CANARY)
    put_links(folder, elsewhere)
    settings.UPLOADS_PER_MINUTE = 100_000
    return Outside(settings.PLANSIDE_HOME, folder, elsewhere)


def put_links(folder, elsewhere):
    """What a door may have taken away before."""
    (folder / "sub").mkdir(exist_ok=True)
    (folder / "sub" / "a.txt").write_text("inside")
    for name, target in {"out": elsewhere, "leak.txt": elsewhere / "secret.txt"}.items():
        (folder / name).unlink(missing_ok=True)
        (folder / name).symlink_to(target)


def workspace_of(things):
    return Path(settings.PLANSIDE_HOME) / "workspaces" / things.agent / "files"


class Outside:
    """All files but those of the workspace, as they were."""

    def __init__(self, home, folder, elsewhere):
        self.home, self.folder, self.elsewhere = home, folder, elsewhere
        self.secret = elsewhere / "secret.txt"
        self.before = self.now()

    def now(self):
        roots = (self.home, self.elsewhere)
        paths = [each for root in roots for each in root.rglob("*") if self.counts(each)]
        return {each: each.read_bytes() if each.is_file() else b"" for each in paths}

    def counts(self, path):
        may_change = ("deleted-files", "recordings", ".commands")
        own = (self.folder, *(self.home / each for each in may_change))
        return not any(map(path.is_relative_to, own)) and not path.is_symlink()

    def check(self, label, texts):
        for text in texts:
            assert CANARY not in text, f"{label} has read what is outside"
        now = self.now()
        for path, content in self.before.items():
            assert now.get(path) == content, f"{label} has changed or taken away {path}"
        for path in now.keys() - self.before.keys():
            assert path.is_relative_to(self.home), f"{label} has made {path}"
            top, *below = path.relative_to(self.home).parts
            assert top in MAY_COME and below, f"{label} has made {path}"
            name = below[0].removesuffix(".json").removesuffix(".lock")
            is_new = self.home / top / below[0] not in self.before
            assert is_new and re.fullmatch(SLUG, name), f"{label} has made {path}"
        for path in now.keys() - self.before.keys():
            shutil.rmtree(path) if path.is_dir() else path.unlink(missing_ok=True)


def forms(outside):
    return [each.replace("{}", str(outside.secret)) for each in HOSTILE]


def of_pages(client, page, things, name, value):
    """The answers to a page's GET and POST with a value as its parameter or field."""
    if page.names and page.route.startswith(isolation.NOBODYS):
        values = {"name": "shared", "lesson": 1, "turn": things.turn, "language": "en"}
        values["fingerprint"] = "x"
    else:
        values = isolation.values_of(page, things, things) if page.names else {}
    said = quote(
        value.encode(errors="surrogatepass"), safe="/" if f"path:{name}" in page.route else ""
    )
    if name in page.names:
        path = page.at({**values, name: said})
        yield from (client.get(path), client.post(path, {"plan": things.plan, "version": 1}))
        return
    path = page.at(values)
    rest = {**bodies.LIKELY, "plan": things.plan, "turn": things.turn, "path": "sub/a.txt"}
    asked = f"{path}?plan={things.plan}&if_taken=replace&folder=&name=x&{name}={said}"
    yield client.get(asked)
    yield client.post(asked, b"x", content_type="application/octet-stream")
    yield client.post(path, {**rest, name: value.encode(errors="replace").decode()})


def of_operation(client, operation, things, name, value):
    """The answer to an operation with a value as its parameter or field."""
    said = quote(value.encode(errors="surrogatepass"), safe="")
    own = bodies.own_path(operation, things).replace("/lessons/{id}", "/lessons/1")
    path, _, query = own.partition("?")
    parts = zip(operation.path.split("/"), path.split("/"), strict=True)
    path = "/".join(said if part == f"{{{name}}}" else value for part, value in parts)
    path += f"?if_taken=replace&{query}"
    body = {**isolation.least(operation.body)} if operation.body else {}
    if operation.body and name in bodies.fields_of(operation):
        is_list = bodies.fields_of(operation)[name] == {"array"}
        body[name] = [value] if is_list else value
    else:
        path += f"&{name}={said}"
    kind = "application/json" if operation.body else "application/octet-stream"
    headers = {"If-Match": '"1"'}
    yield client.generic(operation.method, path, json.dumps(body), kind, headers=headers)


def tried(alice, outside, some):
    """How often a hostile name was given; `some` chooses the forms for a door and its field."""
    page_of, operation_of = isolation.browser(alice.user), isolation.script(alice.user)
    doors = {str(page): (of_pages, page_of, page) for page in pages()}
    doors |= {str(each): (of_operation, operation_of, each) for each in operations()}
    count = 0
    for door, (_, names) in listed().items():
        if door not in doors:
            continue
        answers_of, client, address = doors[door]
        for name in names:
            texts = []
            for value in some(name, forms(outside)):
                for answer in answers_of(client, address, alice, name, value):
                    texts.append(content_of(answer))
                    assert answer.status_code < 500, (door, name, value, texts[-1])
                count += 1
            outside.check(f"{door} {name}", texts)
            put_links(outside.folder, outside.elsewhere)
    return count


def content_of(answer):
    content = b"".join(answer.streaming_content) if answer.streaming else answer.content
    answer.close()
    return content.decode(errors="replace")


def all_of_them(name, forms):
    return forms


def a_few():
    """The shortest ways out for what is a path, and two of all forms, for each name other ones."""
    first = 0

    def some(name, forms):
        nonlocal first
        first += 2
        few = [forms[first % len(forms)], forms[(first + 1) % len(forms)]]
        return few + forms[: len(WAYS_OUT)] * (name in OF_FILES)

    return some


def test_no_name_given_at_any_door_leads_outside(alice, outside):
    """All forms, and an admin: tests/nightly/walks/test_every_name_at_every_door.py."""
    assert tried(alice, outside, a_few()) > 300


def test_no_path_that_a_model_names_leads_outside(outside):
    tools = {tool.name: tool for tool in file_tools(outside.folder)}
    takes_names = {door[5:] for door, (_, names) in listed().items() if names and door in TOOLS}
    assert takes_names == tools.keys()
    rest = {"content": "new", "old": "canary", "new": "gone", "pattern": "canary"}
    for name, tool in tools.items():
        known = {each: rest[each] for each in tool.parameters["properties"].keys() & rest.keys()}
        said = [bodies.outcome(tool, {"path": value} | known) for value in forms(outside)]
        outside.check(name, said)


# A command with the places of its names.
CALLS = {
    "chain run": ["hello", "--agent"],
    "chain delete": ["id"],
    "chain default": ["agent", "chain"],
    "plan new": ["goal", "--agent", "--planner"],
    "plan run": ["--executor"],
    "plan next": ["--executor"],
    "tools add": ["name", "--openapi=https://service.example"],
    "tools change": ["name", "--openapi=https://service.example"],
    **{f"tools {verb}": ["name"] for verb in ("remove", "test", "trust", "distrust")},
}


def test_no_name_that_a_command_is_given_leads_outside(outside):
    assert tried_at_commands(outside, a_few()) > 50


def tried_at_commands(outside, some):
    """How often one was called."""
    run_command("chain", "run", "hello", "--agent=none")  # makes the key, as a first start does
    outside.before = outside.now()
    count = 0
    for door, (_, names) in listed().items():
        words = door.removeprefix("manage.py ")
        for name in names * (words != door):
            for value in some("path", forms(outside)):
                given = [given_as(word, name, value) for word in CALLS[words]]
                ended = run_command(*words.split(), *filter(None, given))
                assert ended.code != 0, (door, name, value, ended)
                outside.check(f"{door} {name} {value!r}", [ended.out, ended.err])
                count += 1
    return count


def given_as(word, name, value):
    """A word of a command with its name in the place for that; no other option."""
    if word == name:
        return f"{word}={value}" if word.startswith("--") else value
    return "" if word in ("--agent", "--planner", "--executor") else word
