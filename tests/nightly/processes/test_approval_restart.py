"""A call that asks outlives the server, is allowed through the API, and runs once."""

import pytest
from django.test import Client

from tests.fake_model import call, say
from tests.inner import create_token, put_back_orphans
from tests.world import ALL_FILE_TOOLS, calls_of, conversation, drive, files_of, scripted, tell

pytestmark = pytest.mark.django_db(transaction=True)


def test_asked_restarted_allowed_from_the_api_and_carried_out_once():
    c = conversation(tools={**ALL_FILE_TOOLS, "write_file": "ask"}, plan={"enabled": False})
    model = scripted(call("write_file", path="asked.txt", content="once"), say("Written."))
    tell(c, "please write")
    [asked] = calls_of(c)
    assert asked.state == "asked"

    put_back_orphans(all_of_them=True)  # as the next server does at its start
    drive()
    assert [(made.pk, made.state) for made in calls_of(c)] == [(asked.pk, "asked")]
    assert len(model.requests) == 1 and not (files_of(c) / "asked.txt").exists()

    script = Client(headers={"Authorization": f"Bearer {create_token(c.owner, 'script')}"})
    path, kind = f"/api/tool-calls/{asked.pk}/decide", "application/json"
    for _ in range(2):  # deciding twice is harmless
        assert script.post(path, {"decision": "allow_once"}, kind).status_code == 200
    drive()
    assert (files_of(c) / "asked.txt").read_text() == "once"
    assert [made.state for made in calls_of(c)] == ["done"]
