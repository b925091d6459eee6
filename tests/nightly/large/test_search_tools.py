"""An agent with more operations than a model takes at once finds what it needs by searching."""

import json
import logging

import pytest

from agents.models import ToolSource
from tests.agents.test_search_tools import _answering, forge, offered, search
from tests.fake_model import call, calls, say
from tests.world import calls_of, conversation, scripted, tell, texts

__all__ = ["_answering"]

pytestmark = pytest.mark.django_db(transaction=True)

log = logging.getLogger(__name__)  # --log-cli-level=INFO shows the tokens


def test_a_question_that_needs_three_of_1400_operations_is_answered_in_small_requests():
    forge()
    c = conversation(tools={"forge": "allow"})
    model = scripted(
        search("list issues of a repo"),
        call("forge__repo_list_issues", owner="a"),
        search("lock a branch"),
        calls(call("forge__repo_lock_branchs"), search("export releases")),
        call("forge__repo_export_releases"),
        say("Three looked up."),
    )
    tell(c, "what is open?")
    assert texts(c)[-1] == "Three looked up."
    assert [each.state for each in calls_of(c)] == ["done"] * 6
    assert [each.result for each in calls_of(c) if each.tool.startswith("forge")] == [
        "200 OK\n/live/v2/repo/issues/list",
        "200 OK\n/live/v2/repo/branchs/lock",
        "200 OK\n/live/v2/repo/releases/export",
    ]
    sizes = [len(json.dumps(request)) // 4 for request in model.requests]
    whole = sum(len(json.dumps(tool)) // 4 for tool in ToolSource.objects.get().tools)
    log.info("tokens a request: %s; all 1,400 operations at once: %s", sizes, whole)
    assert max(sizes) < 8_000 < 100_000 < whole
    assert all(len(offered(request)) <= 128 for request in model.requests)
