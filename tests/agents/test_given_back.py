"""What a model gives along with a reply is stored, and goes back to it through the database."""

import json
from decimal import Decimal

import httpx
import pytest
from asgiref.sync import async_to_sync

from agents import http
from agents.models import Message, Provider, ToolCall, Turn
from plans import actions
from tests.agents.test_vendors import VENDORS, filled, streamed
from tests.fake_model import FakeModelServer, call, fails, say
from tests.inner import (
    BROKE_OFF,
    Endpoint,
    ModelRequest,
    ProviderEdit,
    Reply,
    add_provider,
    api_of,
    catalog,
    cost_of,
    read_model,
)
from tests.world import (
    agent,
    conversation,
    drive,
    plan_of,
    proposed,
    scripted,
    shown,
    states,
    tell,
)

pytestmark = pytest.mark.django_db(transaction=True)
LONG_ID = f"call_{'x' * 3_000}"


def signed(name="list_files", **arguments):
    """A call as Gemini streams it."""
    function = {"name": name, "arguments": json.dumps(arguments)}
    extra = {"google": {"thought_signature": "c2ln"}}
    made = {"index": 0, "id": LONG_ID, "type": "function", "function": function}
    delta = {"role": "assistant", "tool_calls": [{**made, "extra_content": extra}]}
    document = {"choices": [{"index": 0, "delta": delta, "finish_reason": "tool_calls"}]}
    return {"raw": f"data: {json.dumps(document)}\n\ndata: [DONE]\n\n"}


def made_in(request):
    (said,) = [each for each in request["messages"] if each.get("tool_calls")]
    return said["tool_calls"][0]


def test_a_call_goes_back_to_its_model_with_its_signature_and_its_whole_id():
    c = conversation()
    model = scripted(signed(), say("Nothing."), say("Still nothing."))
    tell(c, "What is here?")
    tell(c, "And now?")
    for request in model.requests[1:]:
        made = made_in(request)
        assert made["id"] == LONG_ID
        assert made["extra_content"] == {"google": {"thought_signature": "c2ln"}}
    assert ToolCall.objects.get().call_id == LONG_ID


def test_another_model_gets_the_call_without_it():
    c = conversation()
    model = scripted(signed(), say("Nothing."), say("Hello."))
    tell(c, "What is here?")
    agent(id=c.agent_id, model="another")
    tell(c, "And now?")
    made = made_in(model.requests[2])
    assert "extra_content" not in made
    assert len(made["id"]) == 9
    assert model.requests[2]["messages"][-3]["tool_call_id"] == made["id"]


def test_a_call_that_was_stored_before_anything_was_kept_is_sent_all_the_same():
    c = conversation()
    model = scripted(call("list_files"), say("Nothing."), say("Hello."))
    tell(c, "What is here?")
    Message.objects.update(wanted_back=None)  # as an older Planside has left them
    tell(c, "And now?")
    made, result = made_in(model.requests[2]), model.requests[2]["messages"][-3]
    assert made["function"]["name"] == "list_files"
    assert (result["role"], result["tool_call_id"]) == ("tool", made["id"])


@pytest.mark.parametrize("broken", [fails(400, "No."), fails(500)])
def test_behind_results_that_were_never_seen_stands_a_word_of_the_assistant(broken):
    """Mistral refuses a person's words right behind a tool's."""
    c = conversation()
    model = scripted(call("list_files"), *[broken] * 5, say("Here again."))
    tell(c, "What is here?")
    tell(c, "And now?")
    last = model.requests[-1]["messages"]
    assert [each["role"] for each in last[-3:]] == ["tool", "assistant", "user"]
    assert last[-2]["content"] == BROKE_OFF


def test_a_call_that_no_server_could_read_is_tried_once_more_and_no_oftener():
    c = conversation()
    body = {"error": {"message": "Tool call validation failed", "code": "tool_use_failed"}}
    model = scripted(*[{"status": 400, "body": body}] * 5)
    tell(c, "What is here?")
    assert len(model.requests) == 2
    assert Turn.objects.get().error == "scripted returned 400: Tool call validation failed."


@pytest.mark.parametrize(("reason", "is_said"), [("length", True), ("stop", False)])
def test_a_reply_that_ends_at_the_models_limit_says_so(client, reason, is_said):
    c = conversation()
    document = {"choices": [{"delta": {"content": "One, two"}, "finish_reason": reason}]}
    scripted({"raw": f"data: {json.dumps(document)}\n\ndata: [DONE]\n\n"})
    tell(c, "Count to a hundred")
    client.force_login(c.owner)
    page = client.get(f"/c/{c.pk}/").content.decode()
    assert "One, two" in page
    assert ("The model reached its output limit here." in page) == is_said


def test_cached_tokens_are_counted_and_said(client):
    c = conversation()
    usage = {
        "prompt_tokens": 1000,
        "completion_tokens": 10,
        "prompt_tokens_details": {"cached_tokens": 800},
    }
    document = {"choices": [{"delta": {"content": "Hi"}, "finish_reason": "stop"}], "usage": usage}
    scripted({"raw": f"data: {json.dumps(document)}\n\ndata: [DONE]\n\n"})
    tell(c, "Hello")
    turn = Turn.objects.get()
    assert (turn.tokens_in, turn.tokens_cached) == (1000, 800)
    client.force_login(c.owner)
    assert "1.0k tokens, 800 of them from the cache" in client.get(f"/c/{c.pk}/").content.decode()


def test_a_plan_says_how_many_of_its_tokens_came_from_the_cache(client):
    def answer(tool, **arguments):
        function = {"name": tool, "arguments": json.dumps(arguments)}
        usage = {
            "prompt_tokens": 3000,
            "completion_tokens": 50,
            "prompt_tokens_details": {"cached_tokens": 2500},
        }
        delta = {"tool_calls": [{"index": 0, "id": tool, "function": function}]}
        document = {"choices": [{"delta": delta, "finish_reason": "tool_calls"}], "usage": usage}
        return {"raw": f"data: {json.dumps(document)}\n\ndata: [DONE]\n\n"}

    c = proposed("Read", "Write")
    done = [answer("finish_subtask", outcome="Done.")] * 2
    scripted(*done, answer("finish_plan", outcome="All done."))
    tell(c, "go")
    plan = shown(c)
    assert (plan["tokens"], plan["tokens_cached"], plan["usage_estimated"]) == (6100, 5000, False)
    assert [each["tokens_cached"] for each in plan["subtasks"]] == [2500, 2500]
    client.force_login(c.owner)
    words = "6.1k tokens, 5.0k of them from the cache"
    assert client.get(f"/c/{c.pk}/").content.decode().count(words) >= 2, "drawer and closing card"
    page = client.get(f"/plans/{plan['id']}/").content.decode()
    assert words in page and "3.0k tokens, 2.5k of them from the cache" in page
    attempts = client.get(f"/api/plans/{plan['id']}/attempts").json()["items"]
    assert [each["tokens_cached"] for each in attempts] == [2500, 2500]


# What it costs


def cost(api="chat_completions", provider="openai", prices=None, listed=None, **counts):
    known = {"m": prices} if prices else {}
    endpoint = Endpoint(provider, "http://models.invalid/v1", prices=known, api=api)
    reply = Reply("", "", [], counts.pop("asked"), 1_000_000, False, "stop", **counts)
    return cost_of(ModelRequest(endpoint, "m", [], prices=listed or {}), reply)


def test_cached_tokens_cost_what_their_price_says():
    prices = {"input": 2.0, "output": 8.0, "cached_input": 0.5}
    assert cost(asked=1_000_000, cached_tokens=600_000, prices=prices) == Decimal("9.1")
    assert cost(asked=1_000_000, prices=prices) == Decimal("10")


def test_without_a_price_of_their_own_they_cost_what_others_do():
    prices = {"input": 2.0, "output": 8.0}
    assert cost(asked=1_000_000, cached_tokens=600_000, prices=prices) == Decimal("10")


def test_anthropic_takes_a_tenth_for_reading_and_a_quarter_more_for_writing():
    prices = {"input": 5.0, "output": 25.0}
    counts = {"asked": 1_000_000, "cached_tokens": 600_000, "stored_tokens": 200_000}
    paid = cost("anthropic_messages", "anthropic", prices, **counts)
    assert paid == Decimal("25") + Decimal("1") + Decimal("0.3") + Decimal("1.25")


def test_the_prices_that_a_provider_lists_count_where_a_person_has_given_none():
    listed = {"input": 1.0, "cached_input": 0.5, "stored_input": 2.0, "output": 4.0}
    counts = {"asked": 1_000_000, "cached_tokens": 200_000, "stored_tokens": 200_000}
    by_list = Decimal("0.6") + Decimal("0.1") + Decimal("0.4") + 4
    assert cost(listed=listed, **counts) == by_list
    own = {"input": 10.0, "output": 0.0}
    assert cost(listed=listed, prices=own, **counts) == Decimal("10")
    assert cost(provider="openrouter", listed=listed, cost=0.25, **counts) == Decimal("0.25")
    assert cost(provider="openrouter", listed=listed, prices=own, cost=0.25, **counts) == 10
    assert cost(provider="openrouter", listed=listed, **counts) == by_list


@pytest.mark.parametrize(
    ("entry", "paid"),
    [
        (
            {"pricing": {"prompt": "0.000003", "completion": "0.000015",
                         "input_cache_read": "0.0000003", "input_cache_write": "0.00000375"}},
            {"input": 3.0, "output": 15.0, "cached_input": 0.3, "stored_input": 3.75},
        ),
        ({"pricing": {"prompt": "-1", "completion": "-1"}}, {}),
        ({"pricing": {"prompt": "0", "completion": "0"}}, {"input": 0.0, "output": 0.0}),
        (
            {"prompt_text_token_price": 2000, "cached_prompt_text_token_price": 500,
             "completion_text_token_price": 10000},
            {"input": 0.2, "output": 1.0, "cached_input": 0.05},
        ),
        ({}, {}),
    ],
    ids=["OpenRouter", "it differs", "free", "xAI", "not said"],
)  # fmt: skip
def test_listed_prices_have_the_cache_in_them(entry, paid):
    assert read_model({"id": "m", **entry}).prices == paid


def test_a_turn_costs_what_its_provider_lists():
    listed = {"id": "m", "pricing": {"prompt": "0.000002", "completion": "0.000008"}}
    asked = []

    def answer(request):
        asked.append(request.url.path)
        return httpx.Response(200, json={"data": [listed]})

    add_provider("mine", ProviderEdit(base_url="http://mine.invalid/v1"), "alice")
    with http.use(httpx.MockTransport(answer)):
        async_to_sync(catalog.ask)("mine")
    c = conversation(provider="mine", model="m")
    scripted({**say("Hi"), "usage": [1000, 100]})
    tell(c, "Hello")
    assert Turn.objects.get().cost == Decimal("0.0028")


def test_openrouter_says_itself_what_a_reply_has_cost():
    assert cost(provider="openrouter", asked=10, cost=0.25) == Decimal("0.25")
    assert cost(provider="mine", asked=10, cost=0.25) is None


@pytest.mark.parametrize("amount", [10**400, float("inf"), float("nan"), -1, "much", 10**6])
def test_a_cost_that_is_no_amount_counts_for_nothing(amount):
    usage = {"prompt_tokens": 10, "completion_tokens": 1, "cost": amount}
    draft = api_of(Endpoint("openrouter", "http://models.invalid/v1")).draft()
    choice = {"delta": {"content": "Hi"}, "finish_reason": "stop"}
    assert list(draft.add({"choices": [choice], "usage": usage}))
    reply = draft.finished(lambda: 0)
    assert (reply.text, reply.tokens_in, reply.cost) == ("Hi", 10, None)


# A plan with tools, by every vendor


@pytest.mark.parametrize("name", VENDORS)
@pytest.mark.sampled(3)
@pytest.mark.sockets
def test_a_plan_with_tools_is_carried_out_by_every_vendor(name):
    vendor = VENDORS[name]

    def calling(number, tool, **arguments):
        ids = {"mistral": f"D681Pev{number:02}", "anthropic": f"toolu_{number}"}
        call_id = ids.get(name, f"call_{number}{'x' * 300}")
        return streamed(vendor, filled(vendor["call"]["stream"], call_id, tool, arguments))

    chat = streamed(vendor, vendor["chat"]["stream"])
    script = [
        calling(1, "create_plan", title="Look", subtasks=["Read", "Sort"]),
        chat,
        calling(2, "list_files"),
        calling(3, "finish_subtask", outcome="Two files."),
        calling(4, "list_files"),
        calling(5, "finish_subtask", outcome="Sorted."),
        calling(6, "finish_plan", outcome="All sorted."),
    ]
    with FakeModelServer(script) as server:
        Provider.objects.create(name=name, base_url=server.url, key=vendor.get("key", "k"))
        c = conversation(provider=name, model=vendor["model"])
        tell(c, "/plan Look at the files")
        actions.approve_plan(plan_of(c), 1, "alice")
        drive()
        sent = server.requests
    assert states(c) == ["done", "done"]
    assert plan_of(c).outcome == "All sorted."
    assert len(sent) == 7
    assert not Message.objects.filter(kind=Message.Kind.ERROR).exists()
