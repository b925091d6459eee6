"""One failure is one card, and its remedy is one that could mend it."""

import json
import re
from pathlib import Path

import pytest
from django.conf import settings
from django.contrib.auth.models import User

from agents.models import Message, Turn
from plans.models import Run
from tests.fake_model import call, fails, say
from tests.inner import conversation_state_read_state as read_state
from tests.inner import fragments_thread as thread
from tests.inner import stop_reply
from tests.markup import flat
from tests.world import conversation, drive, plan_of, proposed, scripted, tell

pytestmark = pytest.mark.django_db(transaction=True)


def cards(c):
    """The red ones."""
    errors = Message.objects.filter(conversation=c, kind="error")
    return [card for card in errors.order_by("seq") if not card.meta["resolved"]]


def test_an_attempt_that_failed_three_times_alike_is_one_card():
    c = proposed("Read", plan={"enabled": True, "max_attempts": 3})
    model = scripted(lambda request: say("I am done, I think."))
    tell(c, "go")
    assert plan_of(c).run == Run.IDLE
    assert plan_of(c).subtasks.get().attempts.count() == 3
    [card] = cards(c)
    assert "without a result" in card.text
    assert model.requests


def work_in(c, folder):
    """As an admin's agent does."""
    User.objects.filter(pk=c.owner_id).update(is_superuser=True)
    file = Path(settings.PLANSIDE_HOME) / "workspaces" / c.agent_id / "agent.json"
    file.write_text(json.dumps(json.loads(file.read_text()) | {"workspace": folder}))


@pytest.mark.parametrize(
    ("break_it", "remedy", "link"),
    [
        (lambda c: scripted(fails(401)), "models", "Open Models"),
        (
            lambda c: work_in(c, "/nowhere/at/all"),
            "agent",
            "Open the agent’s settings",
        ),
        (lambda c: scripted(lambda request: say("Well.")), "", ""),
    ],
    ids=["key", "folder", "no result"],
)
def test_the_remedy_fits_what_failed(break_it, remedy, link):
    c = proposed("Read")
    scripted(call("list_files"), call("finish_subtask", outcome="done"))
    break_it(c)
    tell(c, "go")
    [card] = cards(c)
    assert card.meta["remedy"] == remedy
    html = thread(read_state(c.pk))
    for words in ("Open Models", "Open the agent’s settings"):
        assert (words in html) == (words == link), words


def test_what_another_model_mends_offers_to_switch_right_there():
    c = conversation(plan={"enabled": False})
    scripted(fails(404, "no such model"))
    tell(c, "hello")
    assert cards(c)[0].meta["remedy"] == "model"
    html = thread(read_state(c.pk))
    assert 'popovertarget="model-picker"' in html
    assert "Open Models" not in html


def test_a_reply_that_fails_offers_the_models():
    c = conversation(plan={"enabled": False})
    scripted(fails(401))
    tell(c, "hello")
    assert cards(c)[0].meta["remedy"] == "models"


def test_what_a_retry_cannot_mend_has_its_remedy_first_and_the_servers_words_folded():
    c = conversation(plan={"enabled": False})
    scripted(fails(401, "bad <key>"))
    tell(c, "hello")
    [card] = cards(c)
    assert card.text.count("key") + card.meta["advice"].count("key") == 1
    html = flat(thread(read_state(c.pk)))
    buttons = html.split('class="buttons"', 1)[1]
    assert re.search(r'<a class="button" data-kind="go"[^>]*>[^@]*?Open Models', buttons)
    assert buttons.count('data-kind="go"') == 1
    assert "Details" in html
    assert "bad &lt;key&gt;" in html
    assert "bad &lt;key" not in html.split("<details", 1)[0], "said once, where it is asked for"


def test_what_a_retry_may_mend_has_it_first():
    c = conversation(plan={"enabled": False})
    scripted(lambda request: fails(500, "engine asleep"))
    tell(c, "hello")
    while Turn.objects.filter(conversation=c, state="queued").update(not_before=None):
        drive()
    html = flat(thread(read_state(c.pk)))
    assert html.split('class="buttons"', 1)[1].split("</button>", 1)[0].count('data-kind="go"') == 1


def test_a_reply_that_is_stopped_between_two_tries_says_that_it_was():
    c = conversation(plan={"enabled": False})
    scripted(fails(429, headers={"retry-after": "100"}))
    tell(c, "hello")
    assert "Next try in" in thread(read_state(c.pk))
    stop_reply(c, "alice")
    html = flat(thread(read_state(c.pk)))
    assert "The model did not answer. You stopped it before the next try." in html
    assert "tried again" not in html
