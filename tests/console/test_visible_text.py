"""What a person decides about holds nothing that cannot be seen."""

import re
import unicodedata

import pytest

from agents.errors import Invalid
from plans import actions
from plans.models import Plan, Subtask
from plans.schemas import PlanDraft, PlanEdit
from tests.inner import (
    MOST_BOXES,
    MOST_BOXES_OF_CODE,
    count_boxes,
    count_hidden,
    visible,
    visible_code,
    visible_plain,
)
from tests.inner import fragments_changes as changes
from tests.markup import html as page_html
from tests.world import conversation, person, plan_of, signed_in

HIDDEN = {
    "right-to-left override": "\u202e",
    "left-to-right isolate": "\u2066",
    "zero-width space": "\u200b",
    "byte order mark": "\ufeff",
    "soft hyphen": "\u00ad",
    "escape": "\x1b",
    "backspace": "\x08",
    "carriage return": "\r",
    "line separator": "\u2028",
    "Hangul filler": "\u3164",
    "braille blank": "\u2800",
    "tag letter": "\U000e0041",
    "variation selector 17": "\U000e0100",
    "private use": "\ue000",
    "unassigned": "\u0378",
}
ONLY_IN_CODE = {"no-break space": "\u00a0", "ideographic space": "\u3000", "joiner": "\u200d"}


def boxes(html):
    return re.findall(r'<span class="hidden-character" title="([^"]+)">([^<]+)</span>', html)


@pytest.mark.parametrize("sign", HIDDEN.values(), ids=HIDDEN)
def test_what_nobody_sees_is_drawn_as_a_box(sign):
    for draw in (visible, visible_code):
        html = draw(f"rm{sign}x")
        assert sign not in html
        assert [label for _, label in boxes(html)] == [f"U+{ord(sign):04X}"]
    assert visible_plain(f"rm{sign}x") == f"rm[U+{ord(sign):04X}]x"


@pytest.mark.parametrize("sign", ONLY_IN_CODE.values(), ids=ONLY_IN_CODE)
def test_an_odd_space_or_joiner_is_a_box_in_a_command_and_itself_in_prose(sign):
    assert len(boxes(visible_code(f"é{sign}é"))) == 1
    assert sign in visible(f"\u0915{sign}\u0937")


def test_every_format_and_control_character_of_unicode_is_a_box():
    for code in range(0x110000):
        sign = chr(code)
        if unicodedata.category(sign) in ("Cc", "Cf", "Zl", "Zp") and sign not in "\n\t":
            assert count_hidden(sign) == 1, hex(code)


def test_a_box_names_its_character():
    assert boxes(visible_code("\u202e\u200b\x1b")) == [
        ("Right-to-left override", "U+202E"),
        ("Zero-width space", "U+200B"),
        ("Escape", "U+001B"),
    ]


def test_html_stays_text_between_boxes():
    assert visible("<b>\u202e</b>").startswith("&lt;b&gt;<span")
    assert visible("<b>") == "&lt;b&gt;"


def test_emoji_and_scripts_that_join_are_left_whole_in_prose():
    for text in ("👨‍👩‍👧 family", "❤️ and 1️⃣", "नमस्ते क्‍ष", "می‌خواهم", "Déjà vu", "שלום"):
        assert visible(text) == text


def test_right_to_left_letters_of_a_command_do_not_move_what_stands_around_them():
    assert visible_code("rm אב / גד") == "rm <bdi>אב</bdi> / <bdi>גד</bdi>"


def test_a_pile_of_accents_does_not_cover_other_lines():
    assert boxes(visible("a" + "\u0301" * 50)) == [("Combining acute accent", "47 × U+0301")]


def test_the_same_hidden_character_in_a_row_is_one_box_that_counts_them():
    html = visible("a" + "\u200b" * 19_990 + "\u200d\u200bb")
    assert [label for _, label in boxes(html)] == ["19,990 × U+200B", "U+200D", "U+200B"]
    assert html.endswith("b") and len(html) < 400
    assert visible_plain("a" + "\u200b" * 7 + "b") == "a[7 × U+200B]b"
    assert len(boxes(visible("\u200ba\u200ba\u200b"))) == 3, "never over what can be seen"


def test_spaces_that_push_the_rest_out_of_sight_are_counted():
    assert "200 spaces" in visible_code("ls" + " " * 200 + "; rm -rf ~")
    assert "spaces" not in visible_code("ls" + " " * 20 + "# list")


MIXED = "\u200b\u202e\x1b" * 6_000


def test_of_too_many_boxes_the_rest_is_counted_in_a_sentence():
    drawn = visible("a" + MIXED + "z")
    assert len(boxes(drawn)) == MOST_BOXES
    assert f"{len(MIXED) + 1 - MOST_BOXES:,} more characters, not shown: too many" in drawn
    assert "z" not in drawn.rsplit("</span>", 1)[1].replace("<b>", "")[:5]
    assert len(boxes(visible_code(MIXED))) == MOST_BOXES_OF_CODE
    assert len(boxes(visible(MIXED, 20))) == 20
    assert len(visible_plain(MIXED)) < 500
    assert count_boxes(MIXED) == MOST_BOXES + 1, "no more are looked for"


FIELDS = ["title", "content", "expected_outcome", "name", "description", "outcome", "goal"]


def draft_of(field, text):
    own = {"name": "One", "description": "", "expected_outcome": ""}
    own |= {"name": {"name": text}, "description": {"description": text}}.get(field, {})
    own |= {"expected_outcome": text} if field == "outcome" else {}
    top = {field: text} if field in ("title", "content", "expected_outcome") else {}
    return PlanDraft.model_validate({"title": "Tidy", "subtasks": [own], **top})


@pytest.mark.django_db
@pytest.mark.parametrize("field", FIELDS)
def test_no_plan_is_made_that_cannot_be_shown_whole(field):
    c = conversation()
    is_short = field in ("title", "name")  # and has room for a part of them only
    draft = draft_of(field, "a\u200b" * (90 if is_short else MOST_BOXES + 1))
    if is_short:
        draft = draft.model_copy(update={"content": "a\u200b" * (MOST_BOXES - 50)})
    goal = "a\u200b" * (MOST_BOXES + 1) if field == "goal" else ""
    with pytest.raises(Invalid, match="cannot be seen"):
        actions.create_plan(c, draft, "agent", goal=goal)
    assert not Plan.objects.exists()


@pytest.mark.django_db
def test_none_becomes_one_by_an_edit():
    c = conversation()
    actions.create_plan(c, PlanDraft(title="Tidy", subtasks=["One"]), "agent")
    with pytest.raises(Invalid, match="cannot be seen"):
        actions.edit_plan(plan_of(c), PlanEdit(content="a\u200b" * 501), "alice", 1)
    assert plan_of(c).version == 1


@pytest.mark.django_db
def test_one_that_was_stored_before_is_drawn_small_and_takes_no_yes():
    c = conversation()
    draft = PlanDraft(title="Tidy", subtasks=[f"Subtask {n}" for n in range(19)])
    actions.create_plan(c, draft, "agent")
    Subtask.objects.update(description=MIXED, outcome=MIXED)
    Plan.objects.update(content=MIXED, goal=MIXED)
    plan = plan_of(c)
    assert len(changes(c.pk, 0)[1]) < 5_000_000
    browser = signed_in(person())
    for path in (f"/c/{c.pk}/", f"/plans/{plan.pk}/", "/needs/"):
        assert len(page_html(browser.get(path))) < 5_000_000, path
    with pytest.raises(Invalid, match="cannot be seen"):
        actions.approve_plan(plan, 1, "alice")
    assert plan_of(c).approved_version is None
