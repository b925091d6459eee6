"""What a person decides about holds nothing that cannot be seen."""

import re
import unicodedata

import pytest

from console.visible_text import count_hidden, visible, visible_code, visible_plain

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
    assert len(boxes(visible("a" + "\u0301" * 50))) == 47


def test_spaces_that_push_the_rest_out_of_sight_are_counted():
    assert "200 spaces" in visible_code("ls" + " " * 200 + "; rm -rf ~")
    assert "spaces" not in visible_code("ls" + " " * 20 + "# list")
