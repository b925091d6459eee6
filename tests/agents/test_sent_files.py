"""Operations that send files of the workspace: to send one is to read it."""

import pytest
from asgiref.sync import async_to_sync

from agents.models import ToolSource, Turn
from tests.fake_model import call, say
from tests.inner import ToolFailed, available_tools, files_folder, read_agent
from tests.world import calls_of, conversation, scripted, tell

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("own_home")]

PUT = {
    "name": "put",
    "description": "Keep a file.",
    "method": "PUT",
    "url": "http://127.0.0.1:9/f",  # nobody is there
    "arguments": {},
    "parameters": {"type": "object", "properties": {"body": {"type": "string"}}},
    "body": "body",
    "body_type": "text/plain",
    "files": [""],
    "read_only": False,
    "idempotent": True,
}


def shelf(**grants):
    """An agent's conversation, a file in its workspace, and a service that takes files."""
    ToolSource.objects.create(name="shelf", kind="openapi", url="http://127.0.0.1:9", tools=[PUT])
    c = conversation(tools=grants, plan={"enabled": False})
    (files_folder(read_agent(c.agent_id)) / "a.txt").write_text("mine")
    return c


@pytest.mark.parametrize(
    ("reading", "sending", "state", "words"),
    [
        ("allow", "allow", "failed", "the connection failed"),
        ("ask", "allow", "asked", ""),
        ("allow", "ask", "asked", ""),
        ("off", "allow", "failed", "read_file is off here"),
    ],
)
def test_an_operation_that_sends_a_file_asks_where_reading_files_asks(
    reading, sending, state, words
):
    c = shelf(read_file=reading, shelf=sending)
    scripted(call("shelf__put", body="a.txt"), say("."))
    tell(c, "Keep it.")
    [made] = calls_of(c)
    assert made.state == state and words in made.result


@pytest.mark.parametrize(
    ("names", "words"),
    [
        (["*"], "the connection failed"),
        (["*", "!read_file"], "read_file is off here"),
        (["*", "!local_fs"], "read_file is off here"),
    ],
)
def test_a_task_that_hides_the_reading_of_files_sends_none(names, words):
    c = shelf(read_file="allow", shelf="allow")
    config = read_agent(c.agent_id).file.settings()
    turn = Turn.objects.create(conversation=c, kind="chat", config=config)
    put = available_tools(turn, names).tools["shelf__put"]
    with pytest.raises(ToolFailed, match=words):
        async_to_sync(put.run)({"body": "a.txt"})
