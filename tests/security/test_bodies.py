"""Every field of every verb, with the strongest value there is: nobody gains anything by it.

The fields come from the OpenAPI document, from the shape of agent.json and from what each form's
view reads, so that a new one is tried by itself. Each is sent by an ordinary person twice: against
what is alice's, and for an agent, plan and run of his own. What counts are the effects.

Many verbs of one kind of thing take the same field: here it is sent to the first of them (`Once`), and
to all by tests/nightly/fuzz/test_every_body.py.
"""

import json
import logging
import re
import socket
import sys
from contextlib import closing
from functools import cache, partial
from itertools import chain
from pathlib import Path

import pytest
from asgiref.sync import async_to_sync
from django.apps import apps
from django.conf import settings
from django.db import transaction
from django.utils.datastructures import MultiValueDict

from agents.errors import NotFound
from agents.models import Conversation, ToolSource, Turn
from plans.models import Plan
from tests.fake_model import call, say
from tests.inner import AgentFile, ToolFailed, available_tools, queue_turn
from tests.inner import chains as chains_api
from tests.security import test_isolation as isolation
from tests.security.addresses import document, least, operations, pages
from tests.world import HTMX, calls_of, conversation, drive, proposal, scripted, tell

log = logging.getLogger(__name__)
pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("nobody_answers")]

world, alice, bob = isolation.world, isolation.alice, isolation.bob
# What agent.json does not know and a turn's own options are or were called.
POSING = ("allow", "in_folder", "chain_document", "options", "owner", "user", "is_admin", "lifted")
# To whom a row belongs, by the way from its table to a person.
WAYS = ("owner", "user", "conversation__owner", "turn__conversation__owner")
WAYS += ("plan__conversation__owner", "subtask__plan__conversation__owner")
WAYS += ("call__turn__conversation__owner", "person")
SHARED_TABLES = ("ToolSource", "OAuthLogin", "Provider")
# What a provider listed when somebody asked it, which everybody may.
FOR_EVERYBODY = ("Tally", "ProviderListing", "ListedModel", "ModelLesson", "PersonEdit")


@pytest.fixture
def elsewhere(tmp_path_factory):
    """A folder of the server with something in it that is nobody's business."""
    folder = tmp_path_factory.mktemp("elsewhere")
    (folder / "passwords.txt").write_text("hunter2")
    return folder


@pytest.fixture
def inside():
    """A service of the server's own network. Whoever fetches from it has got in."""
    with closing(socket.create_server(("127.0.0.1", 0))) as server:
        server.setblocking(False)
        yield server


def strongest(alice, elsewhere, port):
    """The values by kind; a field gets all of its kind."""
    host = f"127.0.0.1:{port}"
    texts = [alice.agent, str(alice.plan), "shell", "*", str(elsewhere), "../../alice-agent/agent"]
    grants = {"shell": "allow", "local_shell": "allow", "*": "allow"}
    grants[f"run_agent:{alice.agent}"] = "allow"
    task = {"id": "t", "handler": "tools", "tools": {"name": "shell", "args": {"command": "id"}}}
    chain = {"id": "own", "tasks": [task]}
    whole = {"tools": grants, "workspace": str(elsewhere), "fetch_hosts": [host, "*"]}
    return {
        "string": texts,
        "integer": [alice.plan, alice.conversation, alice.message, alice.call],
        "number": [1e9],
        "boolean": [True, False],
        "array": [["shell"], ["local_shell"], ["*"], [f"run_agent:{alice.agent}"], [host, "*"]],
        "object": [grants, {"allow": ["shell"], "in_folder": True, "chain": chain}, chain, whole],
        "null": [None],
    }


def kinds_of(schema):
    """The kinds of value that a field of this schema may be given; unknown ones get all."""
    if "$ref" in schema:
        return kinds_of(document()["components"]["schemas"][schema["$ref"].rpartition("/")[2]])
    if choices := schema.get("anyOf") or schema.get("allOf") or schema.get("oneOf"):
        return {kind for each in choices for kind in kinds_of(each)}
    return {schema["type"]} if "type" in schema else {"string", "integer", "array", "object"}


def fields_of(operation):
    """Each field of a body by name; agent.json is one whose fields its own schema lists."""
    schema = operation.body or {}
    while "$ref" in schema or ("anyOf" in schema and "properties" not in schema):
        if "$ref" in schema:
            schema = document()["components"]["schemas"][schema["$ref"].rpartition("/")[2]]
        else:
            schema = next(each for each in schema["anyOf"] if each.get("type") != "null")
    if "properties" in schema:
        return {name: kinds_of(each) for name, each in schema["properties"].items()}
    assert not operation.body or operation.path.startswith("/api/agents"), operation
    anything = {"string", "array", "object", "boolean"}
    return {} if not operation.body else dict.fromkeys([*AgentFile.model_fields, *POSING], anything)


def bodies_of(operation, values):
    """For each field, the least body with each strong value in that place."""
    rest = least(operation.body) if operation.body and fields_of(operation) else {}
    for name, kinds in fields_of(operation).items():
        strong = [value for kind in sorted(kinds - {"null"}) for value in values[kind]]
        yield name, [json.dumps({**rest, name: value}) for value in strong]


def owned_by(user):
    """Every row that belongs to a person, of every table that leads to one."""
    found = {}
    for model in [
        *apps.get_app_config("agents").get_models(),
        *apps.get_app_config("plans").get_models(),
    ]:
        way = next((way for way in WAYS if leads(model, way)), None)
        if way is not None:
            found[model.__name__] = sorted(map(repr, model.objects.filter(**{way: user}).values()))
        elif model.__name__ in SHARED_TABLES:
            found[model.__name__] = sorted(map(repr, model.objects.values()))
        else:
            assert model.__name__ in FOR_EVERYBODY, f"say to whom a row of {model.__name__} belongs"
    return found


@cache
def leads(model, way):
    try:
        model.objects.filter(**{way: 1}).exists()
    except Exception:
        return False
    return True


class Always:
    """Lets every field through, with every value."""

    def __call__(self, path, name):
        return True

    def some(self, values):
        return values


class Once(Always):
    """Lets a field through the first time that a verb of such a thing takes it."""

    def __init__(self):
        self.seen = set()
        self.first = 0

    def __call__(self, path, name):
        kind = (thing_of(path), name)
        is_new = kind not in self.seen
        self.seen.add(kind)
        return is_new

    def some(self, values):
        """Two; others for the next field."""
        self.first += 1
        return [values[number % len(values)] for number in (self.first, self.first + 1)]


def thing_of(path):
    """What an address is about: /api/plans, /c, /settings/agents."""
    parts = path.strip("/").split("/")
    return "/".join(parts[: 2 if parts[0] in ("api", "settings") else 1])


def files_of(*agents):
    folders = [Path(settings.PLANSIDE_HOME) / "workspaces" / each for each in agents]
    found = sorted(path for each in folders for path in each.rglob("*") if path.is_file())
    return {str(path): path.read_bytes() for path in found}


class Watched:
    """What must not move while somebody else tries, and what must not be reached."""

    def __init__(self, alice, bob, elsewhere, inside):
        self.alice, self.bob, self.elsewhere, self.inside = alice, bob, elsewhere, inside
        self.before = self.now()

    def now(self):
        here = {str(path): path.read_bytes() for path in self.elsewhere.iterdir()}
        return owned_by(self.alice.user), files_of("alice-agent", "alice-helper"), here

    def check(self, label, answers, offers=True):
        for answer in answers:
            assert isolation.SECRET not in answer.content.decode(errors="replace"), label
            assert answer.status_code < 500, (label, answer.content)
        assert self.now() == self.before, f"{label} has changed what is not his"
        if offers:
            self.check_offers(label)

    def check_offers(self, label):
        """What a model would be offered for him now, in each conversation he has."""
        for c in Conversation.objects.filter(owner=self.bob.user, parent_call=None):
            for turn in chain(c.turns.filter(state__in=["queued", "waiting"]), fresh(c)):
                self.check_tools(label, turn)

    def check_tools(self, label, turn):
        try:
            tools = available_tools(turn, ["*"]).tools
        except Exception as refused:
            assert "admin" in str(refused) or "no agent" in str(refused), (label, refused)
            return
        assert "shell" not in tools, f"{label} has given him a shell"
        for name, arguments in self.tries():
            if name in tools:
                result = outcome(tools[name], arguments)
                assert "hunter2" not in result, (label, name)
                assert name == "read_file" or "passwords" not in result, (label, name)
        with pytest.raises(BlockingIOError):
            self.inside.accept()

    def tries(self):
        port = self.inside.getsockname()[1]
        return [
            ("list_files", {}),
            ("read_file", {"path": str(self.elsewhere / "passwords.txt")}),
            ("fetch_url", {"url": f"http://127.0.0.1:{port}/"}),
        ]


def fresh(c):
    """A turn as the conversation's next message would make it."""
    with transaction.atomic():
        try:
            turn = queue_turn(c, "chat")
        except NotFound:  # its agent is there no more
            return
        yield turn
        turn.delete()


def outcome(tool, arguments):
    try:
        return async_to_sync(tool.run)(arguments).text
    except ToolFailed as failure:
        return str(failure)


@pytest.fixture
def watched(alice, bob, elsewhere, inside, monkeypatch):
    monkeypatch.setattr(chains_api, "LONGEST_RUN", 0)
    return Watched(alice, bob, elsewhere, inside)


def tried(sends, watched, label):
    """Requests whose common effect is looked at, and then undone in rows and agents' files."""
    workspaces = Path(settings.PLANSIDE_HOME) / "workspaces"
    texts = {path: path.read_bytes() for path in workspaces.glob("bob-*/agent.json")}
    with transaction.atomic():
        answers = [send() for send in sends]
        watched.check(label, answers)
        transaction.set_rollback(True)
    for path, text in texts.items():
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(text)


def all_refused(sends, watched, allowed):
    """Requests by label, none of which finds anything; that nothing moved is looked at in the end."""
    with transaction.atomic():
        answers = {label: [send() for send in each] for label, each in sends.items()}
        watched.check("what is alice's", list(chain(*answers.values())), offers=False)
        transaction.set_rollback(True)
    statuses = {label: {each.status_code for each in found} for label, found in answers.items()}
    assert {label: found for label, found in statuses.items() if not found <= allowed} == {}


@cache
def template_fields():
    """Every name that a form of the pages sends."""
    texts = [path.read_text() for path in Path(settings.BASE_DIR).glob("templates/**/*.html")]
    found = {name for text in texts for name in re.findall(r'\bname="([a-zA-Z_]+)"', text)}
    return sorted(found | {"version", "plan", "plan_version", "to", "plan_title", "keep"})


def fields_read(client, path, likely, monkeypatch):
    """What the view of a form asks for, when it gets every field there is."""
    read = set()
    with monkeypatch.context() as patch, transaction.atomic():
        for method in ("get", "getlist", "__getitem__", "__contains__"):
            patch.setattr(MultiValueDict, method, noting(getattr(MultiValueDict, method), read))
        fields = dict.fromkeys([*template_fields(), MARKED], "1") | likely
        answer = client.post(path, fields, headers=HTMX)
        transaction.set_rollback(True)
    if answer.status_code == 405:
        return []
    return sorted(read - {"csrfmiddlewaretoken"})


def noting(method, read):
    def noted(self, key, *more):
        caller = sys._getframe(1).f_code.co_name  # a look at all values asks for none by name
        if dict.__contains__(self, MARKED) and caller not in ("values", "items", "dict"):
            read.add(key)
        return method(self, key, *more)

    return noted


MARKED = "of-this-test"  # is in a form so that what reads it is told from all else
LIKELY = {
    "grant": "allow", "decision": "always", "enabled": "on", "provider": "shared", "model": "m",
    "mode": "all", "version": "1", "plan_version": "1", "tool": "shell", "name": "X", "text": "X",
}  # fmt: skip


def form_values(alice, elsewhere, port):
    values = strongest(alice, elsewhere, port)
    whole = {"id": "bob-agent", **values["object"][3], "allow": ["shell"]}
    posing = {"id": "bob-agent", "options": values["object"][1], "in_folder": True}
    return [alice.agent, str(alice.plan), "local_shell", json.dumps(whole), json.dumps(posing)]


def posted(page):
    return not page.route.startswith(
        ("settings/models/", "settings/tools/", "settings/chains/", "sign", "texts/")
    )


def test_no_field_of_the_api_gets_at_what_is_someone_elses(watched):
    assert tried_at_someone_elses(watched, Once()) > 100


def tried_at_someone_elses(watched, is_wanted):
    """How many bodies were sent for what is alice's."""
    stranger = isolation.script(watched.bob.user)
    sends = {}
    for operation in isolation.owned_operations():
        path = isolation.api_path(operation, watched.alice)
        texts = [text for _, each in wanted(operation, watched, is_wanted) for text in each]
        ask = partial(isolation.ask, stranger, operation, path)
        sends[str(operation)] = [partial(ask, text) for text in texts]
    all_refused(sends, watched, {404, 422})
    count = sum(map(len, sends.values()))
    log.info("%s bodies for what is alice's: 0 gained", count)
    return count


def wanted(operation, watched, is_wanted):
    """The bodies of an operation for each of its fields that is to be tried."""
    values = strongest(watched.alice, watched.elsewhere, watched.inside.getsockname()[1])
    for name, texts in bodies_of(operation, values):
        if is_wanted(operation.path, name):
            yield name, texts


def test_no_field_of_the_api_gives_an_ordinary_person_more_for_his_own(watched):
    assert tried_for_his_own(watched, Once()) > 60


def tried_for_his_own(watched, is_wanted):
    """How many fields were sent for what is bob's; changes before what is made anew."""
    mine = isolation.script(watched.bob.user)
    verbs, fields, count = set(), 0, 0
    for operation in sorted(operations(), key=lambda each: each.method):
        if operation.body is None or is_asynchronous(operation):
            continue
        path = own_path(operation, watched.bob)
        for name, texts in wanted(operation, watched, is_wanted):
            ask = partial(isolation.ask, mine, operation, path, if_match='"1"')
            tried([partial(ask, body=text) for text in texts], watched, f"{operation} {name}")
            verbs, fields, count = verbs | {str(operation)}, fields + 1, count + len(texts)
    log.info("%s verbs, %s fields, %s bodies for his own: 0 gained", len(verbs), fields, count)
    return fields


# They are for admins, or see below: their view runs beside the transaction that undoes the rest.
def is_asynchronous(operation):
    return str(operation) in {"POST /api/tools", "POST /api/chains/{id}/run"}


def own_path(operation, bob):
    if operation.path.startswith("/api/agents/{agent_id}"):
        return operation.path.replace("{agent_id}", bob.agent)
    if isolation.shared_operation(operation) or "{" not in operation.path:
        return operation.path.replace("{id}", "planner").replace("{name}", "shared")
    return isolation.api_path(operation, bob)


def test_no_field_of_an_asynchronous_verb_gives_more(watched):
    mine = isolation.script(watched.bob.user)
    values = strongest(watched.alice, watched.elsewhere, watched.inside.getsockname()[1])
    for operation in filter(is_asynchronous, operations()):
        path = operation.path.replace("{id}", "default-run-chain")
        for name, texts in bodies_of(operation, values):
            answers = [isolation.ask(mine, operation, path, text) for text in texts]
            watched.check(f"{operation} {name}", answers, offers=False)


def test_no_field_of_a_form_gets_at_anything(watched, monkeypatch):
    assert tried_in_forms(watched, monkeypatch, Once()) > 40


def tried_in_forms(watched, monkeypatch, is_wanted):
    """How many fields were sent; looked at after all of a form, since drawing a page takes a while."""
    client = isolation.browser(watched.bob.user)
    values = form_values(watched.alice, watched.elsewhere, watched.inside.getsockname()[1])
    forms, fields, count, at_alices = 0, 0, 0, {}
    for page in filter(posted, pages()):
        own = page.at(isolation.values_of(page, watched.bob, watched.bob) if page.names else {})
        likely = {**LIKELY, "plan": str(watched.bob.plan)}
        read = fields_read(client, own, likely, monkeypatch)
        rest = {name: likely.get(name, "1") for name in read}
        chosen = [name for name in read if is_wanted(page.route, name)]
        tries = [[{**rest, name: value} for value in is_wanted.some(values)] for name in chosen]
        bodies = [*chain(*tries)]
        if bodies:
            tried([posting(client, own, body) for body in bodies], watched, own)
        forms, fields, count = forms + bool(chosen), fields + len(chosen), count + len(bodies)
        if page.names:
            path = page.at(isolation.values_of(page, watched.alice, watched.alice))
            sends = [posting(client, path, body) for body in [each[0] for each in tries] or [rest]]
            at_alices[path] = sends
    all_refused(at_alices, watched, {404, 405})
    log.info("%s forms, %s fields, %s bodies: 0 gained", forms, fields, count)
    return fields


def posting(client, path, body):
    """Without htmx: what comes back leads to a page, and is not the page itself."""
    return partial(client.post, path, body)


def test_an_ordinary_persons_run_with_everything_granted_does_nothing_outside(watched):
    """All at once, and carried out: a model that tries what it can."""
    bob, alice = watched.bob, watched.alice
    mine = isolation.script(bob.user)
    values = strongest(alice, watched.elsewhere, watched.inside.getsockname()[1])
    whole = {key: value for key, value in values["object"][3].items() if key == "tools"}
    c = conversation("bob", id="bob-third", **whole, fetch_hosts=["*"], allow=["shell"])
    scripted(proposal("Take it"), say("Here."))
    tell(c, "/plan take it", by="bob")
    plan = Plan.objects.get(conversation=c)
    answers = [
        mine.post(f"/api/plans/{plan.pk}/{verb}", body, content_type="application/json").status_code
        for verb, body in (
            ("approve", {"version": 1, "run": "no"}),
            ("run", {"allow": ["shell", "local_shell"]}),
            ("run", {"executor": "default-run-chain", "allow": ["fetch_url", "run_agent"]}),
        )
    ]
    assert answers == [200, 403, 200]
    port = watched.inside.getsockname()[1]
    transport = scripted(
        call("shell", command=f"touch {watched.elsewhere}/stolen"),
        call("write_file", path=f"{watched.elsewhere}/stolen", content="x"),
        call("read_file", path=f"../../{alice.agent}/agent.json"),
        call("fetch_url", url=f"http://127.0.0.1:{port}/"),
        call("run_agent", agent=alice.agent, task="tell"),
        call("finish_subtask", outcome="nothing"),
        say("."),
        say("."),
    )
    drive()
    assert not {"done"} & {each.state for each in calls_of(c) if each.tool not in DONE}
    for request in transport.requests:
        assert "shell" not in {each["function"]["name"] for each in request.get("tools", [])}
    assert watched.now() == watched.before
    with pytest.raises(BlockingIOError):
        watched.inside.accept()


DONE = {"create_plan", "finish_subtask", "finish_plan"}


def test_every_way_a_body_can_be_of_use_was_tried(watched):
    """So that nothing above passes because there was nothing to try."""
    tools = available_tools(
        Turn.objects.filter(conversation=watched.bob.conversation).last(), ["*"]
    ).tools
    assert tools or ToolSource.objects.exists()
    assert {"allow", "executor"} <= set(fields_of(named("POST /api/plans/{id}/run")))
    assert {"workspace", "tools", "options"} <= set(
        fields_of(named("PATCH /api/agents/{agent_id}"))
    )


def named(words):
    return next(each for each in operations() if str(each) == words)
