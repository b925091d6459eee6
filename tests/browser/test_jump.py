"""Reading further up while a reply is written: the log stays where it is, and the end is one press away."""

import os
import subprocess
import sys
from threading import Event

import pytest
from playwright.sync_api import expect

from tests.browser.test_pages import violations
from tests.fake_model import FakeModelServer, rule, say
from tests.tab import Tab

SEEN, READ = Event(), Event()  # how far the reader is
RULES = [
    rule(
        say(
            " ".join(f"word{n}" for n in range(100)),
            hang=SEEN,
            then=say(
                " ".join(f"word{n}" for n in range(100, 300)),
                hang=READ,
                then=say(" ".join(f"word{n}" for n in range(300, 600))),
            ),
        ),
        user="^write",
    ),
    rule(say("Short.")),
]
HISTORY = """
import django, sys
django.setup()
from agents.models import Conversation, Event, Message, Turn
c = Conversation.objects.get(pk=int(sys.argv[1]))
first, count = c.seq + 1, int(sys.argv[2])
turns = Turn.objects.bulk_create(Turn(conversation=c, state="done") for _ in range(count // 2))
for turn, parent in zip(turns[1:], turns):
    turn.parent = parent
Turn.objects.bulk_update(turns, ["parent"])
Event.objects.bulk_create(
    Event(conversation=c, seq=first + n, type="message.added") for n in range(count)
)
Message.objects.bulk_create(
    Message(conversation=c, turn=turns[n // 2], seq=first + n, changed_seq=first + n,
        role="assistant" if n % 2 else "user", text=f"Message {n}.\\n\\n- a list\\n- of **two**")
    for n in range(count)
)
Conversation.objects.filter(pk=c.pk).update(seq=first + count - 1)
"""
AT = "() => document.querySelector('#log').scrollTop"
PLACE = """() => [...document.querySelectorAll("#log article")].map((e) => [e.id, e.getBoundingClientRect().top])
    .find(([, top]) => top > 100)"""


def with_history(product, count):
    """A conversation in which much was said."""
    chat = product.conversation("scripted")
    values = {"PLANSIDE_HOME": str(product.home), "DJANGO_SETTINGS_MODULE": "console.settings"}
    command = [sys.executable, "-c", HISTORY, str(chat), str(count)]
    subprocess.run(command, env=os.environ | values, check=True)
    return chat


@pytest.fixture(scope="module")
def model():
    with FakeModelServer({"rules": RULES}) as server:
        yield server


@pytest.fixture
def tab(product, open_tab) -> Tab:
    product.change_agent("scripted", plan={"enabled": False})
    return open_tab(f"/c/{with_history(product, 60)}/")


def test_the_log_stays_while_a_reply_is_written_and_the_end_is_one_press_away(tab):
    page = tab.page
    jump = page.get_by_role("button", name="Jump to newest")
    expect(jump).to_be_hidden()
    tab.message.fill("write much")
    page.keyboard.press("Enter")
    expect(tab.log).to_contain_text("word10 ")
    expect(jump).to_be_hidden()
    page.mouse.move(500, 400)
    page.mouse.wheel(0, -300)  # less than one screen, and new text comes in
    page.wait_for_function(f"() => ({AT})() <= -300")
    SEEN.set()
    expect(jump).to_be_visible()
    page.mouse.wheel(0, -2500)
    page.wait_for_function(f"() => ({AT})() <= -2800")
    expect(tab.log).to_contain_text("word299")
    before = page.evaluate(PLACE)
    READ.set()
    expect(tab.log).to_contain_text("word599")
    expect(page.get_by_role("button", name="Stop the reply")).to_have_count(0)
    assert page.evaluate(PLACE) == before
    jump.click()
    assert page.locator("#log").evaluate("log => log.scrollTop") == 0
    expect(jump).to_be_hidden()
    expect(page.locator("#log")).to_be_focused()


def test_end_does_the_same_and_what_is_unfolded_is_nothing_new(tab):
    page = tab.page
    jump = page.get_by_role("button", name="Jump to newest")
    page.locator("#log").evaluate("log => log.scrollTop = -200")
    page.wait_for_timeout(200)
    expect(jump).to_be_hidden()
    page.locator("#log").evaluate("log => log.scrollTop = -3 * log.clientHeight")
    expect(jump).to_be_visible()
    box, composer = jump.bounding_box(), page.locator("#composer").bounding_box()
    assert (box["height"], composer["y"] - box["y"] - box["height"]) == (32, 12)
    assert violations(tab) == []
    page.locator("#log").focus()
    page.keyboard.press("End")
    assert page.locator("#log").evaluate("log => log.scrollTop") == 0
    expect(jump).to_be_hidden()
