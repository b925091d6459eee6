"""An agent with more operations than a model takes at once finds what it needs by searching."""

import json
from functools import cache
from itertools import pairwise

import httpx
import pytest

from agents.models import ToolCall, ToolSource
from tests.agents.petstore import petstore
from tests.chains.chains import chatting, task
from tests.fake_model import call, say
from tests.inner import (
    MOST_FOUND,
    MOST_OFFERED,
    SHARE,
    Tool,
    best,
    decide_call,
    doctor,
    handle_message,
    http,
    left_out,
    operations_of,
    permissions,
    read_agent,
    words_in,
)
from tests.world import (
    agent,
    calls_of,
    conversation,
    drive,
    eventually,
    happening,
    scripted,
    signed_in,
    tell,
    texts,
)

pytestmark = pytest.mark.django_db(transaction=True)


URL = "https://forge.example"
NOUNS = ("issue", "release", "branch", "webhook", "member", "label", "artifact")
VERBS = ("list", "get", "create", "rename", "archive", "export", "lock", "merge", "move", "pin")


def forge(count=1400, name="forge"):
    return register(forge_document(count), name)


@cache
def forge_document(count):
    """A document with so many operations: each verb for each noun of projects and more."""
    paths = {}
    for n in range(count):
        noun, verb = NOUNS[n // len(VERBS) % len(NOUNS)], VERBS[n % len(VERBS)]
        area = n // (len(VERBS) * len(NOUNS))
        place = f"area{area}" if area else "repo"
        parameters = [
            {"name": key, "in": "query", "schema": {"type": "string", "description": key * 10}}
            for key in ("owner", "project", "page", "order")
        ]
        paths[f"/{place}/{noun}s/{verb}"] = {
            "get": {
                "operationId": f"{place}/{verb}_{noun}s",
                "summary": f"{verb.title()} the {noun}s of a {place}",
                "parameters": parameters,
            }
        }
    return json.dumps(petstore(paths=paths))


@cache
def operations(document, url):
    return operations_of(json.loads(document), url, "", 50).operations


def register(document, name="forge", url=URL):
    tools = operations(document if isinstance(document, str) else json.dumps(document), url)
    return ToolSource.objects.create(name=name, kind="openapi", url=url, tools=tools)


@pytest.fixture(autouse=True)
def _answering():
    """The service says which operation it was asked for."""
    with http.use(httpx.MockTransport(lambda request: httpx.Response(200, text=request.url.path))):
        yield


def offered(request):
    return [tool["function"]["name"] for tool in request.get("tools", [])]


def search(query):
    return call("search_tools", query=query)


def test_each_request_begins_with_the_tools_of_the_one_before():
    forge()
    c = conversation(tools={"forge": "allow", "read_file": "allow"})
    model = scripted(search("list issues"), search("lock branch"), search("pin label"), say("ok"))
    tell(c, "look")
    written = [json.dumps(request["tools"])[:-1] for request in model.requests]
    assert all(later.startswith(sooner) for sooner, later in pairwise(written))
    assert len(set(written)) == 4


def test_what_fits_is_offered_whole_and_needs_no_search():
    forge(20)
    c = conversation(tools={"forge": "allow"})
    model = scripted(say("ok"))
    tell(c, "hello")
    assert len([n for n in offered(model.requests[0]) if n.startswith("forge__")]) == 20
    assert "search_tools" not in offered(model.requests[0])


def test_small_services_and_named_operations_stay_beside_a_large_one():
    forge()
    register(petstore(), "pets")
    c = conversation(tools={"*": "allow", "forge__area3_pin_labels": "allow"})
    model = scripted(say("ok"))
    tell(c, "hello")
    names = offered(model.requests[0])
    assert "pets__findPets" in names and "forge__area3_pin_labels" in names
    assert [n for n in names if n.startswith("forge__")] == ["forge__area3_pin_labels"]
    assert names[-1] == "search_tools"


def test_a_small_window_holds_no_more_than_its_share():
    forge(90)
    c = conversation(tools={"forge": "allow"}, context_window=4096)
    model = scripted(search("list get create rename archive export lock issue"), say("ok"))
    tell(c, "hello")
    tools = [t for t in model.requests[1]["tools"] if t["function"]["name"].startswith("forge__")]
    assert 0 < len(tools) < MOST_FOUND and len(json.dumps(tools)) // 4 <= 4096 // SHARE + 5


def test_an_operation_that_was_not_found_yet_is_refused_with_the_way_to_it():
    forge()
    c = conversation(tools={"forge": "allow"})
    scripted(call("forge__repo_pin_labels"), say("ok"))
    tell(c, "pin it")
    (refused,) = calls_of(c)
    assert refused.state == ToolCall.State.REFUSED and "search_tools" in refused.result
    assert len(refused.result) < 200


def test_what_is_not_granted_is_never_found_and_what_asks_still_asks():
    forge()
    c = conversation(
        tools={"forge": "allow", "forge__repo_lock_issues": "off", "forge__repo_pin_issues": "ask"}
    )
    scripted(search("forge__repo_lock_issues"), call("forge__repo_lock_issues"), say("ok"))
    tell(c, "lock it")
    found, locked = calls_of(c)
    assert "forge__repo_lock_issues:" not in found.result
    assert locked.state == ToolCall.State.REFUSED
    scripted(search("pin issues"), call("forge__repo_pin_issues"), say("ok"))
    tell(c, "pin it")
    assert calls_of(c)[-1].state == ToolCall.State.ASKED


def test_a_grant_taken_back_after_the_search_counts_at_the_call():
    forge()
    c = conversation(tools={"forge": "allow"})
    replies = iter([search("pin issues"), call("forge__repo_pin_issues"), say("ok")])

    def answer(request):
        if "forge__repo_pin_issues" in offered(request):
            agent(id=c.agent_id, tools={"forge": "off"})
        return next(replies)

    scripted(answer)
    tell(c, "pin it")
    assert calls_of(c)[-1].state == ToolCall.State.REFUSED


def test_what_was_found_is_on_offer_until_the_turn_ends_and_no_longer():
    forge()
    c = conversation(tools={"forge": "allow"})
    model = scripted(search("pin issues"), say("found"), say("next"))
    tell(c, "find it")
    tell(c, "and now?")
    assert [("forge__repo_pin_issues" in offered(r)) for r in model.requests] == [
        False, True, False,
    ]  # fmt: skip


def test_a_turn_that_is_taken_up_again_has_what_it_had_found():
    forge()
    c = conversation(tools={"forge": "allow"})
    model = scripted(search("pin issues"), {**say("never"), "wait": "forever"})

    async def story(worker):
        await eventually(lambda: len(model.requests) == 2)

    handle_message(c, "find it", "alice", None)
    happening(story)
    model = scripted(call("forge__repo_pin_issues"), say("pinned"))
    drive()
    assert "forge__repo_pin_issues" in offered(model.requests[0])
    assert texts(c)[-1] == "pinned" and calls_of(c)[-1].state == "done"


def test_no_search_where_it_is_switched_off():
    forge()
    c = conversation(tools={"forge": "allow", "search_tools": "off"})
    model = scripted(say("ok"))
    tell(c, "hello")
    assert "search_tools" not in offered(model.requests[0])


def test_a_chain_calls_an_operation_by_its_name_without_a_search():
    forge()
    c = chatting(
        task("look", "tools", "end", tools={"name": "forge", "tool_name": "repo_pin_issues"}),
        tools={"forge": "allow"},
    )
    scripted()
    tell(c, "look")
    assert texts(c)[-1] == "/live/v2/repo/issues/pin"


def test_a_task_of_a_chain_searches_only_in_its_own_list():
    forge()
    register(petstore(), "pets")
    c = chatting(
        task(
            "ask", "chat_completion", ("equals", "tool_call", "run"), "end",
            execute_config={"tools": ["forge"]},
        ),
        task("run", "execute_tool_calls", "ask"),
        tools={"*": "allow"},
    )  # fmt: skip
    model = scripted(search("findPets pin issues"), say("ok"))
    tell(c, "look")
    assert offered(model.requests[0])[-1] == "search_tools"
    found = [name for name in offered(model.requests[1]) if "__" in name]
    assert found and all(name.startswith("forge__") for name in found)


def test_what_is_left_out_is_said_in_doctor_and_on_the_card():
    forge()
    c = conversation(tools={"forge": "allow"})
    assert left_out(permissions.of_conversation(c)) == {"forge": 1400}
    finding = doctor.agent_file(read_agent(c.agent_id))
    assert finding.grade == "note" and "1,400 operations of forge" in finding.sentence
    page = signed_in(c.owner).get("/settings/agents/").content.decode()
    assert "1,400 operations of forge" in page


# The search itself


def operation(name, description=""):
    return Tool(name, description, {"type": "object", "properties": {}}, run=None)


MANY = [
    operation("git__issues_list", "List the issues of a repository."),
    operation("git__issues_list_comments", "List the comments of an issue."),
    operation("git__pulls_list", "List pull requests. An issue may be one."),
    operation("git__createRelease", "Publish a version."),
    operation("git__repos_delete", "Delete a repository, for good."),
]


@pytest.mark.parametrize(
    ("query", "first"),
    [
        ("list issues", "git__issues_list"),
        ("comments on issue", "git__issues_list_comments"),
        ("repositories to delete", "git__repos_delete"),
        ("Releases", "git__createRelease"),
        ("please use git__pulls_list for issues", "git__pulls_list"),
        ("use createRelease to delete a repository", "git__createRelease"),
    ],
)
def test_the_best_match_comes_first(query, first):
    assert best(query, MANY)[0].name == first


def test_a_query_about_nothing_there_finds_nothing():
    assert best("bake bread", MANY) == [] and best("", MANY) == []


def test_equals_come_in_the_order_of_the_document():
    same = [operation(f"git__thing{n}", "the same words") for n in range(40)]
    assert [tool.name for tool in best("same words", same)] == [
        f"git__thing{n}" for n in range(MOST_FOUND)
    ]


def test_words_are_cut_at_humps_and_signs_and_plurals_are_one_with_singulars():
    assert words_in("listIssues/repo-Policies_v2 class") == [
        "list", "issue", "repo", "policy", "v2", "class",
    ]  # fmt: skip


def test_the_bounds_are_those_that_servers_set():
    assert MOST_OFFERED + 28 == 128


def test_a_turn_that_goes_on_from_its_rows_is_offered_what_it_had_found():
    forge()
    c = conversation(tools={"forge": "ask"})
    found = call("forge__repo_list_issues", owner="a")
    model = scripted(search("list issues of a repo"), found, say("Listed."))
    tell(c, "what is open?")
    decide_call(calls_of(c)[-1], "allow_once", "alice")
    drive()
    assert texts(c)[-1] == "Listed."
    assert "forge__repo_list_issues" in offered(model.requests[-1])
