"""The product with `transformers serve` and a tiny model that is made on the spot."""

import subprocess
from pathlib import Path

import pytest

from agents import actions as talk
from agents.db import in_db
from agents.llm.model_lists import models_of
from agents.llm.providers import resolve
from agents.models import Message, Provider
from console.chat_commands import handle_message as person_says
from plans import actions
from tests.console.serving import free_port
from tests.peers import python_programs, serving
from tests.world import (
    calls_of,
    conversation,
    drive,
    errors_of,
    eventually,
    files_of,
    happening,
    plan_of,
    states,
    tell,
    texts,
)

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.server("transformers serve")]

HERE = Path(__file__).parent


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    """Its address, and the folder of its model, which is also the model's name."""
    programs = python_programs(HERE / "requirements" / "transformers.txt")
    model = tmp_path_factory.mktemp("tiny")
    subprocess.run([programs / "python", HERE / "tiny_model.py", model], check=True, timeout=120)
    port = free_port()
    command = [programs / "transformers", "serve", model, "--port", str(port), "--device", "cpu"]
    url = f"http://127.0.0.1:{port}"
    cache = tmp_path_factory.mktemp("hub")  # without one it has no list of models
    with serving(command, f"{url}/health", 300, HF_HUB_OFFLINE="1", HF_HUB_CACHE=str(cache)):
        yield url, str(model)


@pytest.fixture(autouse=True)
def provider(server, transactional_db):
    url, _ = server
    Provider.objects.create(name="local", base_url=f"{url}/v1")
    yield


@pytest.fixture
def c(server):
    return conversation(provider="local", model=server[1])


@pytest.mark.shows("chat")
def test_a_chat_is_answered_and_counted_though_it_knows_no_stream_options(c):
    for _ in range(2):
        tell(c, "Hello")
    assert texts(c) == ["Good morning."] * 2, errors_of(c)
    turn = c.turns.first()
    assert turn.tokens_in > 0 and turn.tokens_out == 4


@pytest.mark.shows("a plan with tools")
def test_a_plan_is_made_approved_and_carried_out(c):
    tell(c, "/plan make files")
    assert states(c) == ["todo"], errors_of(c)
    actions.approve_plan(plan_of(c), 1, "alice", run="all")
    drive()
    assert states(c) == ["done"], errors_of(c)
    assert plan_of(c).state == "done"


@pytest.mark.shows("a tool call")
def test_a_tool_is_called_and_its_result_answered(c):
    tell(c, "which files are there?")
    assert [call.state for call in calls_of(c, "list_files")] == ["done"], errors_of(c)
    assert texts(c)[-1] == "That is all."


@pytest.mark.shows("two calls at once")
def test_two_calls_of_one_reply_are_two(c):
    """It gives both the same id and the same index."""
    tell(c, "write both")
    assert (files_of(c) / "one.txt").read_text() == "1"
    assert (files_of(c) / "two.txt").read_text() == "2"


@pytest.mark.shows("a call that it cannot read")
def test_a_call_that_it_cannot_read_ends_the_turn_with_a_word_of_it(c):
    tell(c, "answer badly")
    assert not c.turns.filter(state__in=["queued", "running"]).exists()
    assert errors_of(c) or texts(c)


@pytest.mark.shows("stop")
def test_a_reply_without_end_is_stopped(c):
    async def story(worker):
        await in_db(person_says, c, "talk for ever", "alice")
        await eventually(
            lambda: Message.objects.filter(streaming=True, text__contains=" on and").exists(),
            60,  # it reckons on the processor
        )
        await in_db(talk.stop_reply, c, "alice")
        await eventually(lambda: not c.turns.filter(state__in=["queued", "running"]).exists(), 2)

    happening(story)
    assert texts(c)[0].startswith(" on and on")
    tell(c, "Hello")
    assert texts(c)[-1] == "Good morning."


@pytest.mark.shows("its list of models")
async def test_its_models_are_listed(server):
    listed = await models_of(await in_db(resolve, "local"))
    assert isinstance(listed, list)
