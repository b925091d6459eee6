"""Images in results of tools: kept with the call, and sent to models that see."""

from base64 import b64decode

import pytest
from asgiref.sync import async_to_sync
from django.utils import timezone

pytest.importorskip("mcp", reason="the package mcp is not installed")

from agents import http
from agents.db import in_db
from agents.models import Attachment, ProviderListing
from tests.agents.mcp_server import DOT, serve
from tests.fake_model import ScriptedTransport, call, calls, fails, say
from tests.inner import (
    Endpoint,
    ModelRequest,
    Worker,
    add_source,
    handle_message,
    lessons_for,
    mcp,
    register,
    resolve,
    stream,
)
from tests.world import calls_of, conversation, scripted, until_idle

pytestmark = pytest.mark.django_db(transaction=True)

URL = {"url": f"data:image/png;base64,{DOT}"}
IMAGE = {"type": "image_url", "image_url": URL}
ATTACHED = {"type": "text", "text": "[the images of the tool results above, in order]"}


def talk(c, *words):
    """Say it, and let the agent answer by the server that shows pictures."""

    async def answer():
        await until_idle(Worker())
        await http.aclose_all()
        await mcp.aclose_all()

    for text in words:
        handle_message(c, text, "alice")
        async_to_sync(answer)()


@pytest.fixture
def shown(programs):
    async def added():
        await register(source, "alice")
        await mcp.aclose_all()

    command = programs.add("small", serve)
    source = add_source("small", kind="mcp", command=command, by="alice")
    async_to_sync(added)()
    return conversation(tools={"small": "allow"}, plan={"enabled": False})


def test_an_image_is_kept_with_its_call_and_follows_the_results_of_its_round(shown):
    both = calls(call("small__picture"), call("small__file"))
    model = scripted(both, say("A dot."), say("Still a dot."))
    talk(shown, "What is there?", "And now?")
    picture, file = calls_of(shown)
    [image] = picture.images
    assert (image["media_type"], image["size"]) == ("image/png", 70)
    assert bytes(Attachment.objects.get(pk=image["attachment"]).data) == b64decode(DOT)
    assert file.images is None and "It works." in file.result
    for request in model.requests[1:]:
        sent = [m for m in request["messages"] if m["role"] != "system"]
        assert [m["role"] for m in sent[:5]] == ["user", "assistant", "tool", "tool", "user"]
        assert sent[2]["content"] == "Look:\n[image: image/png, 70 bytes]"
        assert "# Tool\nIt works." in sent[3]["content"]
        assert sent[4]["content"] == [ATTACHED, IMAGE]
    shown.delete()
    assert not Attachment.objects.exists()


def test_only_the_newest_images_are_sent_and_the_others_are_named(shown):
    rounds = [call("small__picture") for _ in range(10)]
    model = scripted(*rounds, say("Ten dots."))
    talk(shown, "Look ten times.")
    last = model.requests[-1]["messages"]
    parts = [p for m in last if isinstance(m["content"], list) for p in m["content"]]
    assert parts.count(IMAGE) == 8
    assert sum("[image: image/png" in str(m["content"]) for m in last if m["role"] == "tool") == 10
    assert all(isinstance(m["content"], str) for m in last if m["role"] == "tool")


SEEN = [
    {"role": "user", "content": "Look."},
    {"role": "assistant", "content": None, "tool_calls": []},
    {"role": "tool", "tool_call_id": "1", "content": [{"type": "text", "text": "Here:"}, IMAGE]},
]


async def test_mistral_says_a_word_between_results_and_their_images():
    """It refuses a user's words right behind results, and the images were left out for it."""
    transport = ScriptedTransport([say("A dot.")])
    endpoint = Endpoint("mine", "https://api.mistral.ai/v1", "sk-1")
    request = ModelRequest(endpoint, "mistral-medium-latest", list(SEEN))
    with http.use(transport):
        assert [part async for part in stream(request)]
        await http.aclose_all()
    *_, result, word, images = transport.requests[0]["messages"]
    assert [each["role"] for each in (result, word, images)] == ["tool", "assistant", "user"]
    assert word["content"] and images["content"] == [ATTACHED, IMAGE]


@pytest.mark.parametrize("status", [400, 500])
async def test_a_server_that_refuses_as_mistral_does_learns_the_word_and_keeps_the_images(status):
    """Behind LiteLLM or vLLM neither name nor address tells that it is Mistral's."""
    words = "MistralException - Unexpected role 'user' after role 'tool'"
    model = ScriptedTransport([fails(status, words), say("A dot."), say("Again.")])
    assert (await asked(model)).text == "A dot."
    assert (await asked(model)).text == "Again."
    for request in model.requests[1:]:
        *_, result, word, images = request["messages"]
        assert [each["role"] for each in (result, word, images)] == ["tool", "assistant", "user"]
        assert images["content"] == [ATTACHED, IMAGE]


BLIND = [
    fails(400, "messages[3].content must be a string"),
    fails(404, "No endpoints found that support image input"),
    fails(422, "unknown variant `image_url`, expected `text`"),
    fails(500, "image input is not supported - hint: you may need to provide the mmproj"),
]


async def asked(transport, model="small-3"):
    endpoint = Endpoint("openai", "http://models.invalid/v1")
    known = await in_db(lessons_for, endpoint, model)
    request = ModelRequest(endpoint, model, list(SEEN), lessons=known)
    with http.use(transport):
        parts = [part async for part in stream(request)]
        await http.aclose_all()
    return parts[-1]


@pytest.mark.parametrize("refusal", BLIND)
async def test_a_model_that_does_not_see_is_asked_without_images_from_then_on(refusal):
    model = ScriptedTransport([refusal, say("A text."), say("Again."), say("I see.")])
    assert (await asked(model)).text == "A text."
    assert (await asked(model)).text == "Again."
    assert (await asked(model, "large-3")).text == "I see."
    sees = [IMAGE["type"] in str(request["messages"]) for request in model.requests]
    assert sees == [True, False, False, True]
    assert model.requests[1]["messages"][2]["content"] == "Here:"
    assert len(model.requests[1]["messages"]) == 3


FAULTY = [
    fails(400, "messages.2.content.0.image.source.base64: image exceeds 5 MB maximum: 6 > 5"),
    fails(400, "Unable to process input image. Please retry."),
    fails(400, "Your input image may contain content that is not allowed by our safety system."),
    fails(400, "Request contains an invalid argument."),
    fails(500, "vision encoder crashed: out of memory"),
]


@pytest.mark.parametrize("refusal", FAULTY)
async def test_one_image_that_is_refused_does_not_make_the_model_blind(refusal):
    model = ScriptedTransport([refusal, say("A text."), say("I see.")])
    assert (await asked(model)).text == "A text."
    assert (await asked(model)).text == "I see."
    sees = [IMAGE["type"] in str(request["messages"]) for request in model.requests]
    assert sees == [True, False, True]


def test_a_model_whose_server_says_that_it_does_not_see_is_sent_no_image(shown):
    listing = ProviderListing.objects.create(
        provider="openai",
        address=resolve("openai").base_url,
        seconds=0.1,
        asked_at=timezone.now(),
    )
    listing.models.create(name="scripted", is_chat=True, sees_images=False)
    model = scripted(call("small__picture"), say("I see none."))
    talk(shown, "What is there?")
    assert Attachment.objects.exists()
    sent = str(model.requests[-1]["messages"])
    assert "[image: image/png, 70 bytes]" in sent
    assert "image_url" not in sent and "stored_image" not in sent


async def test_an_image_counts_as_a_thousand_tokens_whatever_its_size():
    large = {**IMAGE, "image_url": {"url": "data:image/png;base64," + "A" * 1_000_000}}
    content = [{"type": "text", "text": "Here:"}, large]
    message = {"role": "tool", "tool_call_id": "1", "content": content}
    request = ModelRequest(Endpoint("openai", "http://models.invalid/v1"), "m", [message])
    assert 1_000 < request.estimated_tokens() < 1_100
