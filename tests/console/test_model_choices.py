"""What a person may choose from: what was used lately, then what each provider listed."""

import pytest

from agents.models import ProviderListing
from plans import actions
from tests.fake_model import call, say
from tests.inner import (
    Listing,
    ModelInfo,
    ask_again,
    catalog,
    choices_of,
    choose_model,
    recent_choices,
    resolve,
)
from tests.inner import conversation_state_read_state as read_state
from tests.world import (
    approved,
    conversation,
    done,
    drive,
    news,
    plan_of,
    scripted,
    signed_in,
    tell,
)

pytestmark = pytest.mark.django_db(transaction=True)


def lists(provider, *models):
    catalog.store(resolve(provider), Listing(provider, models=models), 0.1)


def named(prefix, count):
    return [ModelInfo(f"{prefix}-{number:03}", context_window=128_000) for number in range(count)]


def groups(c, find=""):
    found = choices_of(read_state(c.pk), find)
    return {g.title: ([row.name for row in g.rows], g.note) for g in found.groups}


def recent(c):
    return [row.value for row in recent_choices(read_state(c.pk))]


def test_a_provider_shows_five_until_something_is_looked_for():
    c = conversation()
    lists("openai", *named("gpt", 30))
    lists("ollama", ModelInfo("qwen3:8b"), ModelInfo("gpt-oss"))
    found = groups(c)
    assert list(found) == ["Recent", "Ollama", "OpenAI", "Demo model"]
    assert found["Recent"] == (["scripted"], "")
    assert found["Ollama"] == (["gpt-oss", "qwen3:8b"], "on this computer")
    assert found["OpenAI"][0] == [f"gpt-{n:03}" for n in range(5)]
    assert found["OpenAI"][1] == "5 of 30, type to find more"
    assert groups(c, " GPT-02 ") == {"OpenAI": ([f"gpt-02{n}" for n in range(10)], "")}
    assert list(groups(c, "gpt")) == ["Ollama", "OpenAI"]
    for wanted in ("openai/gpt-001", "OpenAI gpt-001", "gpt-001 openai"):
        assert groups(c, wanted) == {"OpenAI": (["gpt-001"], "")}, wanted
    assert groups(c, "openai")["OpenAI"][1] == "20 of 30, type to find more"
    assert groups(c, "nothing like it") == {}


def test_each_model_stands_once_and_the_one_in_use_is_marked():
    c = conversation()
    lists("openai", ModelInfo("scripted", sees_images=True, context_window=8192), ModelInfo("b"))
    found = choices_of(read_state(c.pk))
    rows = [row for group in found.groups for row in group.rows]
    assert [row.value for row in rows] == ["openai/scripted", "openai/b", "demo/docs"]
    assert [row.is_current for row in rows] == [True, False, False]
    assert (rows[0].info.sees_images, rows[0].info.window) == (True, 8192)


def test_recent_are_those_chosen_here_then_elsewhere_at_most_three():
    c, other = conversation(), conversation()
    choose_model(other, "openai/elsewhere")
    scripted(say("One."))
    tell(c, "first")
    for name in ("a", "b", "c"):
        scripted(say(name))
        turn = c.turns.filter(hidden=False).get()
        ask_again(turn, "alice", f"openai/{name}")
        drive()
    assert recent(c) == ["openai/c", "openai/b", "openai/a"]
    choose_model(c, "openai/a")
    assert recent(c) == ["openai/c", "openai/b", "openai/elsewhere"]
    assert recent(other) == ["openai/a", "openai/scripted"]


def test_another_persons_choices_are_not_among_them():
    c, other = conversation(), conversation("bob")
    choose_model(other, "openai/theirs")
    assert recent(c) == []


def test_who_is_silent_is_named_only_if_it_had_models():
    c = conversation()
    lists("ollama", ModelInfo("qwen3:8b"))
    ProviderListing.objects.filter(provider="ollama").update(kind="unreachable")
    lists("lmstudio")
    ProviderListing.objects.filter(provider="lmstudio").update(kind="unreachable")
    lists("openai", ModelInfo("scripted"))
    ProviderListing.objects.filter(provider="openai").update(kind="unreachable")
    assert choices_of(read_state(c.pk)).silent == ["Ollama", "OpenAI"]


def test_the_head_and_the_page_follow_the_choice(client):
    c = conversation(name="Writer")
    choose_model(c, "openai/another")
    html = news(signed_in(c.owner), c)
    assert 'aria-label="Model: another"' in html
    html = signed_in(c.owner).get(f"/c/{c.pk}/models").content.decode()
    assert "Writer uses scripted." in html
    signed_in(c.owner).post(f"/c/{c.pk}/models/choose", {"model": ""})
    assert 'aria-label="Model: scripted"' in news(signed_in(c.owner), c)


def test_a_run_is_done_by_the_model_of_the_conversation():
    c = approved("Read")
    choose_model(c, "openai/another")
    model = scripted(done("read"), call("finish_plan", outcome="All read."))
    actions.run_plan(plan_of(c), "alice")
    drive()
    assert {each["model"] for each in model.requests} == {"another"}
