"""A second and a third person try every address of the first: it is as if nothing were there.

The addresses come from the URL table, the OpenAPI document and the socket's routes. One that is
new and takes a parameter nobody has listed here fails these tests.
"""

import json
from types import SimpleNamespace

import pytest
from channels.testing import WebsocketCommunicator
from django.contrib.auth.models import User
from django.db import transaction
from django.test import Client
from django.utils.timezone import now

from agents.db import in_db
from agents.errors import Forbidden
from agents.models import (
    ApiToken,
    Attachment,
    BrowserSession,
    Conversation,
    Message,
    Provider,
    ToolCall,
    ToolSource,
    Undo,
)
from console import asgi
from plans.models import Attempt, Plan
from tests.fake_model import call, say
from tests.images import png
from tests.inner import (
    NOT_YOURS,
    SIGN_IN,
    AgentFiles,
    Store,
    change_agent,
    create_token,
    delete_conversation,
    ownership,
    permissions,
    read_agent,
    trash,
)
from tests.inner import attachments_take_in as take_in
from tests.kept import kept
from tests.security.addresses import METHODS, least, operations, pages
from tests.world import (
    HTMX,
    agent,
    calls_of,
    conversation,
    drive,
    person,
    plan_of,
    proposal,
    scripted,
    scripted_agents,
    signed_in,
    tell,
)

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("nobody_answers")]

SECRET = "xyzzy"  # stands in everything that is alice's

# What the first parameter of a route is, by how the route begins.
OWNED = {"c/": "conversation", "plans/": "plan", "settings/agents/": "agent"}
OWNED |= {"settings/people/": "person"}
OWNED |= {"settings/account/sessions/": "session", "settings/account/tokens/": "token"}
OWNED |= {"calls/": "call"}
CHAIN = "settings/chains/<str:name>/"
SHARED = ("settings/models/<slug:name>/", "settings/tools/<slug:name>/", CHAIN)
NOBODYS = (*SHARED, "texts/")
# The further parameters: a row of the whole table, or a name within the first.
ROWS = {"message", "call", "plan", "attempt_id", "turn", "attachment", "undo"}
NAMES = {"key", "check", "n", "source", "path"}
FOR_EVERYBODY = {"settings/models/<slug:name>/test", "settings/models/<slug:name>/list"}
# A chain is read and run by everybody, with an agent of their own: tests/console/test_chains_page.py.
FOR_EVERYBODY |= {CHAIN + each for each in ("file", "check", "run", "runs/<int:turn>")}
API_OWNED = {"/api/conversations/{id}": "conversation", "/api/plans/{id}": "plan"}
API_OWNED |= {"/api/tool-calls/{id}": "call", "/api/agents/{agent_id}": "agent"}
API_OWNED |= {"/api/messages/{id}": "message", "/api/attachments/{id}": "attachment"}
API_OWNED |= {"/api/turns/{id}": "turn", "/api/undos/{id}": "undo"}
API_SHARED = ("/api/chains/{id}", "/api/tools/{name}", "/api/providers/{name}")
API_FOR_EVERYBODY = {"POST /api/providers/{name}/test"}


def things_of(name, secret):
    """A person with one of each: what a plan that calls another agent leaves behind."""
    user = person(name)
    helper = agent(id=f"{name}-helper", name=secret, instructions="I am helper")
    own = conversation(
        name,
        id=f"{name}-agent",
        name=secret,
        instructions="I am boss",
        tools={f"run_agent:{helper}": "allow"},
    )
    for each in (helper, own.agent_id):
        ownership.set_owner(user, each)
    scripted_agents(replies_with(secret, helper))
    tell(own, f"/plan {secret}", by=name)
    tell(own, "go", by=name)
    plan, made = plan_of(own), calls_of(own)[-1]
    shot = Attachment.objects.create(conversation=own, media_type="image/png", data=png(3, 2))
    made.images = [{"attachment": shot.pk, "media_type": "image/png", "size": len(shot.data)}]
    made.save()
    said = Message.objects.filter(conversation=own, role="user").first()
    attached = take_in(own, f"{secret}.png", [png(3, 2)], name)
    undone = undo_of(own, secret)
    create_token(user, secret)
    signed_in(user).get("/plans/")
    return SimpleNamespace(
        user=user,
        person=user.pk,
        token=ApiToken.objects.get(user=user).pk,
        session=BrowserSession.objects.get(user=user).pk,
        conversation=own.pk,
        plan=plan.pk,
        agent=own.agent_id,
        message=said.pk,
        turn=said.turn_id,
        undo=undone.pk,
        call=made.pk,
        attachment=attached.pk,
        path=attached.path,
        attempt_id=Attempt.objects.filter(subtask__plan=plan).first().pk,
        child=Conversation.objects.get(parent_call__isnull=False, owner=user).pk,
        child_plan=Plan.objects.get(
            conversation__parent_call__isnull=False, conversation__owner=user
        ).pk,
        child_call=ToolCall.objects.filter(turn__conversation__parent_call__isnull=False).last().pk,
        key="s1",
        check="c1",
        n=1,
        number=1,
        source="shared",
        lesson=1,
    )


def undo_of(own, secret):
    """An undo that is kept, of no file."""
    root = permissions.of_conversation(own).folder.resolve()
    with Store.of(root) as store, store.locked(root):
        steps = store.add_blob(b"[]").hex()
        store.flush()
    named = {"subject": secret, "sentence": {"code": "undone.plan", "title": secret}}
    return Undo.objects.create(
        conversation=own, root=str(root), steps=steps, finished_at=now(), **named
    )


CHECKED = {"checks": [{"kind": "file", "path": "nowhere.txt", "absent": True}]}


def replies_with(secret, helper):
    return {
        "I am boss": [
            call(
                "create_plan", title=secret, subtasks=[CHECKED | {"name": secret}, {"name": "Two"}]
            ),
            say(secret),
            call("run_agent", agent=helper, task=secret),
            call("finish_subtask", outcome=secret),
            call("fail_subtask", error=secret),
        ],
        "I am helper": [
            proposal("Half", title=secret),
            say(secret),
            call("finish_subtask", outcome=secret),
            say(secret),
        ],
    }


def make_world():
    """Alice and bob with one of each, and what everybody shares."""
    ToolSource.objects.create(name="shared", kind="openapi", url="https://shared.example")
    Provider.objects.create(name="shared", base_url="https://shared.example/v1", key="k" * 20)
    return SimpleNamespace(alice=things_of("alice", SECRET), bob=things_of("bob", "bobs own"))


@pytest.fixture(autouse=True)
def world(tmp_path_factory, settings, transactional_db):
    settings.PLANSIDE_HOME = tmp_path_factory.getbasetemp() / "alice-and-bob"
    return kept("alice and bob", make_world, settings.PLANSIDE_HOME)


@pytest.fixture
def alice(world):
    return world.alice


@pytest.fixture
def bob(world):
    return world.bob


def browser(user):
    client = Client(raise_request_exception=True)
    client.force_login(user)
    return client


def script(user):
    return Client(headers={"Authorization": f"Bearer {create_token(user, 'script')}"})


def owner_word(page):
    return next((word for start, word in OWNED.items() if page.route.startswith(start)), None)


def values_of(page, first, rest):
    """The parameters of a page: the first one out of `first`, the further ones out of `rest`."""
    unknown = set(page.names[1:]) - ROWS - NAMES
    assert not unknown, f"say in this test what {unknown} of {page} are"
    values = {name: getattr(rest, name) for name in page.names[1:]}
    return {page.names[0]: getattr(first, owner_word(page)), **values}


def owned_pages():
    found = [page for page in pages() if page.names and not page.route.startswith(NOBODYS)]
    for page in found:
        assert owner_word(page), f"say in this test whose {page} is"
    return found


def statuses(client, path):
    """What each method answers; nothing of it is kept."""
    found = {}
    for method in METHODS:
        with transaction.atomic():
            answer = client.generic(method, path, headers=HTMX)
            found[method] = answer.status_code
            transaction.set_rollback(True)
    return found


def test_every_page_of_someone_else_is_not_there(alice, bob):
    stranger = browser(bob.user)
    mine = browser(alice.user)
    for page in sorted(owned_pages(), key=lambda each: each.route.endswith("delete")):
        path = page.at(values_of(page, alice, alice))
        theirs = statuses(stranger, path)
        assert set(theirs.values()) <= {404, 405}, (path, theirs)
        assert 404 in theirs.values(), (path, theirs)
        own = statuses(mine, path)
        for method in METHODS:
            assert (own[method] == 405) == (theirs[method] == 405), (path, method, own, theirs)
        assert set(own.values()) != {404, 405} or page.route in NEVER_THERE, (path, own)


# With what the story above leaves behind these are not there for alice either.
NEVER_THERE = {
    "c/<int:pk>/earlier",  # wants a number in its query
    "c/<int:pk>/plan/subtasks/<slug:key>/move",  # wants a place
    "c/<int:pk>/plan/go-back",  # wants a version
    "c/<int:pk>/plan/versions",  # wants a plan
    "plans/<int:pk>/versions/<int:n>/",  # of the second version on
    "settings/people/<int:who>/link",  # for admins, of others
    "settings/people/<int:who>/make-admin",
    "settings/people/<int:who>/take-back-admin",
    "settings/people/<int:who>/deactivate",
    "settings/people/<int:who>/activate",
    "calls/<int:pk>/diff",  # of a call that wrote a file
    "c/<int:pk>/messages/<int:message>/text",  # of the end of a plan
    "c/<int:pk>/restore",  # of what was deleted
    # They want a plan or a turn.
    *(
        f"c/<int:pk>/changed{each}"
        for each in ("", "/file", "/blob", "/patch", "/preview", "/undo")
    ),
    "c/<int:pk>/undos/<int:undo>/undo",  # while it is kept
    # They want a path, or what was deleted.
    *(f"c/<int:pk>/workspace/{verb}" for verb in ("file", "content", "pdf")),
    *(f"c/<int:pk>/workspace/{verb}" for verb in ("rename", "delete", "restore")),
}


def test_what_is_someone_elses_is_not_there_below_something_of_ones_own(alice, bob):
    stranger = browser(bob.user)
    tried = 0
    for page in owned_pages():
        if ROWS & set(page.names[1:]):
            path = page.at(values_of(page, bob, alice))
            assert set(statuses(stranger, path).values()) == {404, 405}, path
            tried += 1
    assert tried >= 7


def test_what_sub_agents_say_is_not_there_for_others(alice, bob):
    stranger = browser(bob.user)
    caller = script(bob.user)
    assert stranger.get(f"/c/{alice.child}/").status_code == 404
    assert stranger.get(f"/plans/{alice.child_plan}/").status_code == 404
    assert caller.get(f"/api/conversations/{alice.child}/messages").status_code == 404
    assert caller.get(f"/api/plans/{alice.child_plan}").status_code == 404
    decide = {"decision": "deny"}
    path = f"/api/tool-calls/{alice.child_call}/decide"
    assert caller.post(path, decide, content_type="application/json").status_code == 404
    path = f"/c/{bob.conversation}/calls/{alice.child_call}/decide"
    assert stranger.post(path, decide, headers=HTMX).status_code == 404


def test_pages_without_a_parameter_show_nothing_of_others(alice, bob):
    stranger = browser(bob.user)
    queries = [
        "",
        f"?q={SECRET}&agent={alice.agent}&conversation={alice.conversation}",
        f"?current={alice.conversation}&plan={alice.plan}&source=shared&provider=shared",
    ]
    for page in pages():
        for query in queries if not page.names else ():
            path = page.at({}) + query
            answer = stranger.get(path, follow=True, headers={"HX-Request": "true"})
            shown = b"".join(answer).decode().replace(f"value=&quot;{SECRET}", "")
            assert answer.status_code in (200, 403, 404, 405), path
            assert SECRET not in without_echo(shown), path
    assert SECRET in browser(alice.user).get("/plans/").content.decode()


def without_echo(html):
    """The page without what the request itself has said."""
    echoes = (f"q={SECRET}", f'value="{SECRET}"', f'data-text="{SECRET}"', f"“{SECRET}”")
    for echo in (*echoes, f"/plan {SECRET}", f"/plan</span> {SECRET}"):
        html = html.replace(echo, "")
    return html


def owned_operations():
    return [each for each in operations() if "{" in each.path and not shared_operation(each)]


def shared_operation(operation):
    return operation.path.startswith(API_SHARED)


def api_path(operation, things):
    start, word = next(
        (start, word) for start, word in API_OWNED.items() if operation.path.startswith(start)
    )
    path = operation.path.replace(start, start.partition("{")[0] + str(getattr(things, word)))
    for name in ("key", "check", "n", "number"):
        path = path.replace(f"{{{name}}}", str(getattr(things, name)))
    assert "{" not in path, f"say in this test what the parameters of {operation} are"
    is_of_one_file = path.endswith("/files/content") or operation.method == "DELETE"
    return f"{path}?path={things.path}" if is_of_one_file else path


def ask(client, operation, path, body=None, **headers):
    body = body or (json.dumps(least(operation.body)) if operation.body else "")
    return client.generic(
        operation.method, path, body, content_type="application/json", headers=headers
    )


@pytest.mark.parametrize("name", ["bob", "charlie"])
def test_every_operation_on_what_is_someone_elses_finds_nothing(alice, name):
    stranger = script(person(name))
    tables = ("conversation", "plan", "call", "message", "attachment", "turn", "undo")
    rows = dict.fromkeys(tables, 10**9)
    none = SimpleNamespace(**rows, agent="none", key="s1", check="c1", n=1, number=1, path="none")
    for operation in owned_operations():
        answer = ask(stranger, operation, api_path(operation, alice))
        assert answer.status_code == 404, (str(operation), answer.content)
        missing = ask(stranger, operation, api_path(operation, none))
        assert missing.status_code == 404, (str(operation), missing.content)
        assert SECRET not in answer.content.decode()
        digits = str.maketrans("", "", "0123456789")
        if "agents" not in operation.path:
            assert answer.content.decode().translate(digits) == missing.content.decode().translate(
                digits
            ), "it reads like what does not exist"


def test_the_same_operations_are_there_for_their_owner(alice):
    mine = script(alice.user)
    # What an agent's folder holds is no row: nothing brings it back.
    last = ["/api/agents/{agent_id}/files", "/api/agents/{agent_id}"]
    ordered = sorted(
        owned_operations(),
        key=lambda each: (
            each.method == "DELETE" and 1 + (each.path in last) + (each.path == last[1])
        ),
    )
    for operation in ordered:
        with transaction.atomic():
            body = None
            if operation.path.endswith("{id}/restore"):
                delete_conversation(Conversation.objects.get(pk=alice.conversation))
            elif operation.path.endswith("files/rename"):
                body = json.dumps({"path": alice.path, "to": "other.png"})
            elif operation.path.endswith("files/restore"):
                here = AgentFiles(alice.agent, alice.person)
                body = json.dumps({"deleted": trash.delete(here, "other.png").key})
            path = api_path(operation, alice)
            if operation.path == last[0] and operation.method == "DELETE":
                path = path.replace(alice.path, "other.png")  # renamed above
            answer = ask(mine, operation, path, body, if_match='"1"')
            answer.close()  # a file may be going out
            assert answer.status_code not in (401, 403, 404, 405), (str(operation), answer.content)
            transaction.set_rollback(True)


OF_CONVERSATIONS = {"conversation", "plan", "call", "message", "attachment"}


def test_what_was_deleted_is_not_there_for_anybody_until_it_is_taken_back(alice):
    mine, caller = browser(alice.user), script(alice.user)
    delete_conversation(Conversation.objects.get(pk=alice.conversation))
    for page in owned_pages():
        if owner_word(page) in OF_CONVERSATIONS and not page.route.endswith("/restore"):
            path = page.at(values_of(page, alice, alice))
            assert set(statuses(mine, path).values()) <= {404, 405}, path
    for operation in owned_operations():
        word = next(w for start, w in API_OWNED.items() if operation.path.startswith(start))
        if word in OF_CONVERSATIONS and not operation.path.endswith("/restore"):
            answer = ask(caller, operation, api_path(operation, alice))
            assert answer.status_code == 404, str(operation)
    for kind in ("conversations", "plans"):
        found = caller.get(f"/api/{kind}").json()["items"]
        assert alice.conversation not in [row.get("conversation", row["id"]) for row in found]
    assert not any(
        group["count"] for group in caller.get(f"/api/search?q={SECRET}").json().values()
    )
    assert f"/c/{alice.conversation}/" not in mine.get("/plans/").content.decode()
    assert f"/c/{alice.conversation}/" not in mine.get("/needs/").content.decode()
    assert mine.get(f"/plans/{alice.child_plan}/").status_code == 404
    assert mine.post(f"/c/{alice.conversation}/restore").status_code == 302
    assert mine.get(f"/c/{alice.conversation}/").status_code == 200


def test_a_live_tail_of_someone_elses_events_is_not_there(alice, bob):
    path = f"/api/conversations/{alice.conversation}/events"
    assert script(bob.user).get(path, headers={"Accept": "text/event-stream"}).status_code == 404


def test_lists_of_the_api_show_nothing_of_others(alice, bob):
    stranger = script(bob.user)
    for operation in operations():
        if operation.method == "GET" and "{" not in operation.path:
            for query in ("", f"?q={SECRET}", f"?agent={alice.agent}"):
                answer = stranger.get(operation.path + query)
                assert answer.status_code == 200, operation
                assert SECRET not in answer.content.decode(), operation
    listed = stranger.get(f"/api/plans?conversation={alice.conversation}").json()
    assert listed == {"items": [], "count": 0}


def test_what_everybody_shares_is_changed_by_admins_alone(alice, bob):
    stranger, visitor = script(bob.user), browser(bob.user)
    for operation in filter(shared_operation, operations()):
        path = operation.path.replace("/lessons/{id}", "/lessons/1")
        path = path.replace("{id}", "planner").replace("{name}", "shared")
        assert "{" not in path, f"say in this test what the parameters of {operation} are"
        if operation.method == "GET" or str(operation) in API_FOR_EVERYBODY | {RUN_A_CHAIN}:
            continue
        body = stranger.get(path).content if "chains" in path else None
        assert ask(stranger, operation, path, body).status_code == 403, operation
    for page in pages():
        if page.route.startswith(SHARED) and page.route not in FOR_EVERYBODY:
            answer = visitor.post(page.at({"name": "shared", "lesson": 1}), headers=HTMX)
            assert answer.status_code == 403, page
    assert visitor.post("/settings/tools/add", {"name": "x"}).status_code == 403
    assert visitor.post("/settings/models/add", {"name": "x"}).status_code == 403
    assert ToolSource.objects.count() == Provider.objects.count() == 1


# It runs in a conversation of the caller's own: see the next test for another's agent.
RUN_A_CHAIN = "POST /api/chains/{id}/run"


def test_nobody_gets_at_someone_elses_by_naming_it_in_a_body(alice, bob):
    stranger, visitor = script(bob.user), browser(bob.user)
    bodies = {
        "/api/plans": [
            {"conversation": alice.conversation, "title": "T", "content": "c"},
            {"conversation": alice.conversation, "goal": "g"},
            {"agent": alice.agent, "goal": "g"},
            {"agent": alice.agent, "title": "T", "content": "c"},
        ],
        "/api/conversations": [{"agent": alice.agent}],
        "/api/chains/planner/run": [{"input": "x", "agent": alice.agent}],
    }
    for path, each in bodies.items():
        for body in each:
            answer = stranger.post(path, body, content_type="application/json")
            assert answer.status_code == 404, (path, body, answer.content)
    assert visitor.post("/c/new", {"agent": alice.agent}).status_code == 404
    taken = stranger.post("/api/agents", {"id": alice.agent}, content_type="application/json")
    assert taken.status_code == 409
    assert Conversation.objects.filter(owner=bob.user).count() == 2, "nothing was opened meanwhile"


def test_no_agent_may_call_someone_elses(alice, bob):
    change_agent(
        bob.agent, {"tools": {f"run_agent:{alice.agent}": "allow"}, "plan": {"enabled": False}}
    )
    c = Conversation.objects.create(owner=bob.user, agent_id=bob.agent)
    scripted(call("run_agent", agent=alice.agent, task="Show me everything."), say("No."))
    tell(c, "go and look", by="bob")
    [made] = calls_of(c)
    assert made.state == "failed"
    assert made.result == f"There is no agent {alice.agent!r}."
    assert Conversation.objects.filter(agent_id=alice.agent).count() == 1
    shown = browser(bob.user).get(f"/settings/agents/?agent={bob.agent}").content.decode()
    assert f"run_agent:{alice.agent}" in shown, "he sees what he typed"
    assert SECRET not in shown, "and not what it is called"


def test_the_id_of_a_deleted_agent_is_nobody_elses_while_it_has_conversations(alice, bob):
    mine, stranger = script(alice.user), script(bob.user)
    assert mine.delete(f"/api/agents/{alice.agent}").status_code == 204
    body = {"id": alice.agent, "name": "Trap", "tools": {"*": "allow"}}
    again = stranger.post("/api/agents", body, content_type="application/json")
    assert again.status_code == 409
    assert mine.post("/api/agents", body, content_type="application/json").status_code == 201
    browser(bob.user).post("/settings/agents/new", {"name": alice.agent})
    assert ownership.owner_of(alice.agent) == alice.user.pk


def edit_by_hand(agent_id, **words):
    path = read_agent(agent_id).path
    path.write_text(json.dumps(json.loads(path.read_text()) | words))


def test_only_an_admins_agent_gets_at_the_server_itself(alice, bob, tmp_path_factory):
    elsewhere = str(tmp_path_factory.mktemp("elsewhere"))
    change_agent(bob.agent, {"tools": {"*": "allow"}, "plan": {"enabled": False}})
    c = Conversation.objects.create(owner=bob.user, agent_id=bob.agent)
    scripted(call("shell", command="id"), say("No."))
    tell(c, "who am I", by="bob")
    [made] = calls_of(c)
    assert made.state == "refused"
    with pytest.raises(Forbidden, match="only an admin's agent"):
        change_agent(bob.agent, {"workspace": elsewhere})
    edit_by_hand(bob.agent, workspace=elsewhere)
    scripted(say("Hm."))
    tell(c, "and now", by="bob")
    error = Message.objects.filter(conversation=c, kind="error").last()
    assert "only an admin's agent" in error.text
    User.objects.filter(pk=bob.user.pk).update(is_superuser=True)
    scripted(call("shell", command="pwd"), say("Here."))
    tell(c, "and as an admin", by="bob")
    assert calls_of(c)[-1].result.strip() == elsewhere
    drive()


@pytest.mark.parametrize("name", ["shell", "local_shell"])
@pytest.mark.parametrize("grant", ["allow", "ask"])
def test_no_shell_is_granted_beforehand_by_who_may_become_an_admin(bob, name, grant):
    mine = script(bob.user)
    path = f"/api/agents/{bob.agent}"
    answer = mine.patch(path, {"tools": {name: grant}}, "application/json")
    assert (answer.status_code, name in answer.json()["detail"]) == (403, True)
    assert mine.patch(path, {"tools": {name: "off"}}, "application/json").status_code == 200
    edit_by_hand(bob.agent, tools={name: grant})  # of before, or by hand: the rest may be changed
    assert mine.patch(path, {"description": "x"}, "application/json").status_code == 200
    User.objects.filter(pk=bob.user.pk).update(is_superuser=True)
    assert mine.patch(path, {"tools": {name: grant}}, "application/json").status_code == 200


def test_what_a_card_shows_of_a_provider_is_no_list_of_others_agents(alice, bob):
    change_agent(alice.agent, {"provider": "shared"})
    assert read_agent(alice.agent).file.name == SECRET
    assert SECRET not in browser(bob.user).get("/settings/models/").content.decode()
    User.objects.filter(pk=alice.user.pk).update(is_superuser=True)
    assert SECRET in browser(alice.user).get("/settings/models/").content.decode()


async def code_at(route, things, user):
    """How a socket at this route ends for the person; None while it stays open."""
    path = "/" + str(route.pattern).replace("<int:pk>", str(things.conversation))
    assert "<" not in path, f"say in this test what the parameters of {path} are"
    communicator = WebsocketCommunicator(asgi.live, path)
    communicator.scope["user"] = user
    await communicator.connect()
    first = await communicator.receive_output()
    await communicator.disconnect()
    return first.get("code") if first["type"] == "websocket.close" else None


@pytest.fixture
def rows(alice, bob):
    return alice, bob


async def test_every_socket_of_someone_else_closes_at_once(rows):
    alice, bob = rows
    assert asgi.routes
    for route in asgi.routes:
        assert await code_at(route, alice, alice.user) is None
        assert await code_at(route, alice, bob.user) == NOT_YOURS
        assert await code_at(route, alice, await in_db(person, "charlie")) == NOT_YOURS
        assert await code_at(route, alice, None) == SIGN_IN
