"""A command counts as it is called, in letters and signs of any width; nearly one is asked about."""

import sys
import unicodedata

import pytest

from agents.errors import Invalid
from agents.models import Message, Turn
from tests.builders import proposed_plan
from tests.fake_model import say
from tests.inner import command_in
from tests.world import HTMX, conversation, plan_of, scripted, tell

pytestmark = pytest.mark.django_db(transaction=True)

COMMANDS = ("plan", "clear", "new", "help")
SIGNS = [  # without those that stand for letters or for a path, and colours of a hand
    sign
    for sign in map(chr, range(sys.maxunicode))
    if unicodedata.category(sign)[0] in "PS"
    and not 0x1F3FB <= ord(sign) <= 0x1F3FF
    and not any(each.isalnum() or each == "/" for each in unicodedata.normalize("NFKC", sign))
]


@pytest.mark.parametrize(
    "text",
    [
        "/plan x",
        "／plan x",
        "／ｐｌａｎ　x",
        " /PLAN\nx",
        "\u200f/plan x",
        "/pl\u200ban x",
        "\ufeff/Plan\u00a0x",
        "\ufe0f/plan x",
        "\u3164/plan x",
    ],
)
def test_a_command_of_any_width_runs_and_what_follows_stays_as_typed(text):
    assert command_in(text) == ("plan", "x", False)
    assert command_in(text + "²").rest == "x²"


@pytest.mark.parametrize(
    ("text", "name"),
    [
        *(
            ("/plan: x", "plan"),
            ("/plan：x", "plan"),
            ("/plan@w", "plan"),
            ("/plan.md is wrong", "plan"),
        ),
        *(("/clear!", "clear"), ("/clear،", "clear"), ("/new।", "new"), ("/help՞", "help")),
        *(
            ("/计划 x", "plan"),
            ("/计划整理文档", "plan"),
            ("/plan整理", "plan"),
            ("、plan x", "plan"),
        ),
        *(("/план x", "plan"), ("/新建", "new"), ("/aide", "help"), ("⁄plan x", "plan")),
        *(("/ plan x", "plan"), ("/pln x", "plan"), ("/plna x", "plan"), ("/plans", "plan")),
        *(("/claer", "clear"), ("/hlep", "help"), ("/plan's", "plan"), ("/plan🚀", "plan")),
        ("/clear\u0336", "clear"),
    ],
)
def test_what_is_nearly_a_command_is_asked_about(text, name):
    found = command_in(text)
    assert (found.name, found.is_asked) == (name, True)


@pytest.mark.parametrize(
    "text",
    [
        *(
            "/usr/bin/x is broken",
            "/plan/x is wrong",
            "/plans/12 is wrong",
            "//plan",
            "/",
            "/ x",
            "",
        ),
        *("plan: x", "x /plan", "\\plan x", "、x", "/项目 x", "/2 of them"),
    ],
)
def test_a_path_and_any_other_text_is_a_message(text):
    assert command_in(text) is None


def test_no_sign_of_any_script_makes_a_command_run_or_pass_as_a_message():
    for sign in SIGNS:
        for text in (f"/{name}{sign}{more}" for name in COMMANDS for more in ("", " x", "x")):
            found = command_in(text)
            assert found and (found.is_asked or found.name not in COMMANDS), text


@pytest.mark.parametrize("text", ["/clear!", "/new：x", "/plan: x", "/计划 x"])
def test_what_is_asked_about_changes_nothing_and_is_no_message(text):
    c = proposed_plan("Read")
    before = Message.objects.count(), Turn.objects.count(), plan_of(c).state
    with pytest.raises(Invalid, match="Did you mean /"):
        tell(c, text)
    assert (Message.objects.count(), Turn.objects.count(), plan_of(c).state) == before


def test_the_page_gives_the_text_back_and_the_api_refuses_it(client):
    c = conversation()
    client.force_login(c.owner)
    answer = client.post(f"/c/{c.pk}/say", {"text": "/plan: x"}, headers=HTMX)
    assert answer.status_code == 422 and "Did you mean /plan?" in answer.content.decode()
    c.refresh_from_db()
    assert c.unsent == "/plan: x"
    told = client.post(
        f"/api/conversations/{c.pk}/messages", {"text": "/plan: x"}, "application/json"
    )
    assert told.status_code == 422 and told.json()["detail"].startswith("Did you mean /plan?")
    assert not c.messages.exists()


def test_an_edited_message_is_asked_about_too(client):
    c = conversation()
    scripted(say("Hello."))
    message = tell(c, "hello").message
    client.force_login(c.owner)
    told = client.patch(f"/api/messages/{message.pk}", {"text": "/plan! x"}, "application/json")
    assert told.status_code == 422 and "Did you mean /plan?" in told.json()["detail"]
