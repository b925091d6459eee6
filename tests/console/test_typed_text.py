"""A message of one's own is drawn as it was typed, with what stands in backticks as code."""

import re

import pytest
from django.utils.html import strip_tags

from tests.fake_model import say
from tests.growth import demand_proportion
from tests.inner import MOST_LINKS, pieces_of, typed
from tests.world import conversation, scripted, tell

CODE = re.compile(r'<code data-kind="(\w+)">(.*?)</code>', re.DOTALL)


def code_in(text):
    return [(kind, strip_tags(body)) for kind, body in CODE.findall(typed(text))]


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("run `ls -l` now", [("inline", "`ls -l`")]),
        ("``a`b`` and `c`", [("inline", "`c`")]),
        ("so:\n```py\nx = 1\n```\nand `y`", [("block", "```py\nx = 1\n```\n"), ("inline", "`y`")]),
        ("~~~\n```\n~~~", [("block", "~~~\n```\n~~~")]),
        ("```\nnever closed", [("block", "```\nnever closed")]),
        ("an odd ` sign, and it's fine", []),
        ("```not a fence``` here", [("inline", "```not a fence```")]),
    ],
)
def test_what_stands_in_backticks_is_code_and_all_signs_are_there(text, code):
    assert code_in(text) == code
    assert "".join(p.before + p.text + p.after for p in pieces_of(text)) == text


@pytest.mark.parametrize(
    ("text", "links"),
    [
        ("see www.python.org/doc.", [("https://www.python.org/doc", "www.python.org/doc")]),
        ("(https://a.example/b(c))", [("https://a.example/b(c)", "https://a.example/b(c)")]),
        ("在 www.python.org，看", [("https://www.python.org", "www.python.org")]),
        ("`www.python.org` and www. and me@www.a.b", []),
        ("javascript://x www.", []),
    ],
)
def test_addresses_are_links_as_in_replies(text, links):
    html = typed(text)
    assert re.findall(r'<a[^>]*href="([^"]*)"[^>]*>(.*?)</a>', html) == links
    assert strip_tags(html) == text
    assert all('rel="noopener noreferrer nofollow"' in tag for tag in re.findall("<a[^>]*>", html))


def test_so_many_addresses_are_links_and_the_rest_is_text():
    html = typed("www.a.b " * 20_000)
    assert html.count("<a") == MOST_LINKS
    assert strip_tags(html) == "www.a.b " * 20_000


def test_what_is_typed_is_never_markup():
    html = typed("`<b>` and <script>alert(1)</script>\n```<i>\n<img src=x onerror=y>\n```")
    assert set(re.findall(r"<\w+", html)) == {"<code", "<span"}


def test_white_space_stays_at_both_ends():
    assert typed(" of `a` \n").startswith(" of <code")
    assert typed(" of `a` \n").endswith("</code> \n")


@pytest.mark.parametrize("part", ["`", "` ", "``` \n", "``a", "~~~~\n`", "`a`` "])
def test_no_text_takes_long(part):
    short, long = (part * (size // len(part)) for size in (20_000, 200_000))
    demand_proportion(lambda text: list(pieces_of(text)), short, long)


@pytest.mark.django_db(transaction=True)
def test_on_the_page_nothing_stands_around_what_was_typed(client):
    c = conversation()
    scripted(say("Well."))
    tell(c, "see `this`")
    client.force_login(c.owner)
    html = client.get(f"/c/{c.pk}/").content.decode()
    bubble = html.split('class="own-message"', 1)[1].partition(">")[2].partition("</div>")[0]
    assert strip_tags(bubble) == "see `this`"
