"""Reading further up while a reply is written: the log stays where it is, and the end is one press away."""

import threading

import pytest
from playwright.sync_api import expect

from agents.models import Conversation, Event, Message, Turn
from tests.fake_model import rule, say
from tests.tab import Tab, wait_for

SEEN, READ = threading.Event(), threading.Event()  # how far the reader is
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
# What a scroll brings about has been done.
DRAWN = "() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))"
AT = "() => document.querySelector('#log').scrollTop"
PLACE = """() => [...document.querySelectorAll("#log article")].map((e) => [e.id, e.getBoundingClientRect().top])
    .find(([, top]) => top > 100)"""


def with_history(site, count):
    """A conversation in which much was said."""
    chat = site.conversation()
    site.do(add_history, chat, count)
    return chat


def add_history(chat, count):
    c = Conversation.objects.get(pk=chat)
    first = c.seq + 1
    turns = Turn.objects.bulk_create(Turn(conversation=c, state="done") for _ in range(count // 2))
    for turn, parent in zip(turns[1:], turns, strict=False):
        turn.parent = parent
    Turn.objects.bulk_update(turns, ["parent"])
    seqs = range(first, first + count)
    Event.objects.bulk_create(Event(conversation=c, seq=n, type="message.added") for n in seqs)
    Message.objects.bulk_create(message(c, turns[n // 2], n, first + n) for n in range(count))
    Conversation.objects.filter(pk=c.pk).update(seq=first + count - 1)


def message(c, turn, number, seq):
    role, text = (
        ("assistant" if number % 2 else "user"),
        f"Message {number}.\n\n- a list\n- of **two**",
    )
    return Message(conversation=c, turn=turn, seq=seq, changed_seq=seq, role=role, text=text)


@pytest.fixture
def tab(site, open_tab) -> Tab:
    SEEN.clear()
    READ.clear()
    site.plays(*RULES)
    site.change_agent(plan={"enabled": False})
    return open_tab(f"/c/{with_history(site, 60)}/")


@pytest.mark.usefixtures("working")
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
    page.evaluate(DRAWN)
    expect(jump).to_be_hidden()
    page.locator("#log").evaluate("log => log.scrollTop = -3 * log.clientHeight")
    expect(jump).to_be_visible()
    box, composer = jump.bounding_box(), page.locator("#composer").bounding_box()
    assert (box["height"], composer["y"] - box["y"] - box["height"]) == (32, 12)
    page.locator("#log").focus()
    page.keyboard.press("End")
    assert page.locator("#log").evaluate("log => log.scrollTop") == 0
    expect(jump).to_be_hidden()


@pytest.mark.usefixtures("working")
def test_whoever_reads_further_up_stays_there_when_their_message_is_answered(tab):
    page = tab.page
    held = tab.hold("**/say")
    page.locator("#log").evaluate("log => log.scrollTop = -2000")
    tab.say("a question")
    assert page.locator("#log").evaluate("log => log.scrollTop") == 0
    page.locator("#log").evaluate("log => log.scrollTop = -2000")
    before = page.evaluate(PLACE)
    wait_for(tab, lambda: held)
    held[0].continue_()
    expect(tab.log).to_contain_text("Short.")
    assert page.evaluate(PLACE) == before
