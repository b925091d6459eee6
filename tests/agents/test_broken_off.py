"""A reply that is stopped or cut has used tokens: they are counted, priced, and seen by budgets."""

from __future__ import annotations

import json
from typing import Any

import pytest

from agents.db import in_db
from agents.models import Message, Turn
from plans import actions
from tests.fake_model import call, cut, fails, say, silent
from tests.inner import ProviderEdit, add_provider
from tests.inner import agents_actions as talk
from tests.inner import handle_message as person_says
from tests.world import (
    conversation,
    drive,
    eventually,
    happening,
    plan_of,
    proposed,
    scripted,
    shown,
    tell,
)

pytestmark = pytest.mark.django_db(transaction=True)

PRICES = {"m": {"input": 1.0, "output": 10.0}}


def anthropic(*events: dict[str, Any], **more: Any) -> dict[str, Any]:
    lines = [f"event: {each['type']}\ndata: {json.dumps(each)}\n\n" for each in events]
    return {"raw": "".join(lines), **more}


def begun(words: str) -> list[dict[str, Any]]:
    """What Anthropic's server has sent when a reply is half-way: the input is counted already."""
    usage = {"input_tokens": 25, "cache_read_input_tokens": 75, "output_tokens": 1}
    return [
        {"type": "message_start", "message": {"usage": usage}},
        {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}},
        {
            "type": "content_block_delta",
            "index": 0,
            "delta": {"type": "text_delta", "text": words},
        },
    ]


def stopped(c: Any) -> Turn:
    """The reply is stopped once its first words are there."""

    async def story(worker: Any) -> None:
        await in_db(person_says, c, "Hello", "alice")
        await eventually(
            lambda: Message.objects.filter(turn__isnull=False).exclude(text="").count() > 1
        )
        await in_db(talk.stop_reply, c, "alice")
        await eventually(lambda: Turn.objects.filter(state="stopped").exists(), 2)

    happening(story, at_once=True)
    return Turn.objects.get()


def test_a_stopped_reply_counts_what_anthropics_server_had_counted() -> None:
    edit = ProviderEdit(base_url="http://claude.invalid", prices=PRICES, api="anthropic_messages")
    add_provider("mine", edit, "alice")
    scripted(anthropic(*begun("Hello there, " * 40), hang="forever"))
    turn = stopped(conversation(provider="mine", model="m"))
    assert (turn.tokens_in, turn.tokens_cached) == (100, 75)
    assert turn.tokens_out > 100 and turn.usage_estimated
    paid = (25 + 7.5 + 10 * turn.tokens_out) / 10**6
    assert float(turn.cost or 0) == pytest.approx(paid, abs=1e-6)


def test_a_stopped_reply_of_a_server_that_counts_at_the_end_is_estimated() -> None:
    scripted(silent("Thinking about it. " * 20))
    turn = stopped(conversation())
    assert turn.tokens_in > 10 and turn.tokens_out > 80 and turn.usage_estimated


def test_the_page_says_about(client: Any) -> None:
    scripted(silent("Thinking about it. " * 20))
    c = conversation()
    stopped(c)
    client.force_login(c.owner)
    assert "· about " in client.get(f"/c/{c.pk}/").content.decode()


def test_every_try_that_was_cut_counts() -> None:
    scripted(cut("One two three four. " * 10), cut("One two three four. " * 10), say("Done."))
    c = conversation()
    tell(c, "Hello")
    cut_twice = Turn.objects.get()
    scripted(say("Done."))
    tell(conversation(), "Hello")
    once = Turn.objects.latest("pk")
    assert cut_twice.state == once.state == "done"
    assert cut_twice.tokens_out == once.tokens_out + 100
    assert cut_twice.tokens_in > 2 * once.tokens_in


@pytest.mark.parametrize(
    "reply",
    [fails(429), fails(500), {"error": {"message": "overloaded"}}],
    ids=["429", "500", "an error before the first word"],
)
def test_a_server_that_did_not_begin_costs_nothing(reply: dict[str, Any]) -> None:
    if "error" in reply:
        reply = {"raw": f"data: {json.dumps(reply)}\n\n"}
    scripted(*[reply] * 5)
    tell(conversation(), "Hello")
    turn = Turn.objects.get()
    assert (turn.state, turn.tokens_in, turn.tokens_out) == ("failed", 0, 0)


def test_an_answer_that_cannot_be_used_is_paid_for_as_the_server_says() -> None:
    usage = {"prompt_tokens": 900, "completion_tokens": 4000}
    document = {"choices": [{"delta": {}, "finish_reason": "length"}], "usage": usage}
    scripted({"raw": f"data: {json.dumps(document)}\n\ndata: [DONE]\n\n"})
    tell(conversation(), "Hello")
    turn = Turn.objects.get()
    assert (turn.state, turn.tokens_in, turn.tokens_out) == ("failed", 900, 4000)
    assert not turn.usage_estimated


def test_the_budget_of_a_plan_sees_replies_that_were_cut() -> None:
    c = proposed("Read", "Write", budget={"tokens": 1000})
    long = "One two three four. " * 300  # 1,500 tokens
    model = scripted(cut(long), call("finish_subtask", outcome="done"))
    tell(c, "go")
    assert len(model.requests) == 1
    assert shown(c)["attention"] == "budget"
    actions.raise_budget(plan_of(c), "alice", {"tokens": 100_000})
    drive()
    assert len(model.requests) > 1
