"""No text, whoever wrote it, keeps the process busy with the order of its combining marks.

Python moves each mark past the others, so work is counted here by the longest run of marks that
the library is ever given: a thousand at once would be a million steps.
"""

import unicodedata
from urllib.parse import quote

import pytest
from django.contrib.auth.models import User
from django.template import Context, Template

from agents.errors import Invalid
from tests.fake_model import say
from tests.inner import (
    LONGEST,
    MOST_MARKS,
    approval_phrases,
    folded,
    joined_url,
    known_username,
    new_username,
    normalized,
    slug,
    split_url,
)
from tests.inner import WORDS_MOST_CHARACTERS as MOST_CHARACTERS
from tests.world import HTMX, conversation, proposed, scripted, tell, texts

pytestmark = pytest.mark.django_db(transaction=True)

PILE = "a" + "\u0301" * 3000 + "\u0316" * 3000
PILES = {
    "accents": PILE,
    "marks that are one sign of two": "a" + "\u0f73" * 6000,
    "half-width voiced marks": "ｶ" + "\uff9e\uff9f" * 3000,
    "vowel signs": "अ" + "\u0951\u0952" * 3000,
}
# A form may double the marks, and the letter before them may bring two of its own.
MOST_AT_ONCE = 2 * MOST_MARKS + 4


@pytest.fixture
def longest(monkeypatch):
    """The longest run of marks that the library was given, as a list of one number."""
    seen = [0]
    normalize = unicodedata.normalize

    def counted(form, text):
        run = 0
        for sign in normalize("NFD", text) if len(text) < 2 else text:
            is_mark = unicodedata.combining(sign) or unicodedata.decomposition(sign)[:4] == "0F71"
            run = run + 1 if is_mark or sign in "\uff9e\uff9f" else 0
            seen[0] = max(seen[0], run)
        return normalize(form, text[:1000]) if seen[0] > MOST_AT_ONCE else normalize(form, text)

    monkeypatch.setattr(unicodedata, "normalize", counted)
    return seen


@pytest.mark.parametrize("pile", PILES.values(), ids=PILES)
def test_a_pile_of_marks_is_cut_before_the_library_sees_it(pile, longest):
    for form in ("NFC", "NFD", "NFKC", "NFKD"):
        normalized(pile, form)
    assert approval_phrases.meaning_of(pile[:70]) == approval_phrases.meaning_of(pile) == ""
    folded(pile)
    slug(pile)
    for broken in (f"http://{pile}/", f"/x?{pile}"):
        with pytest.raises(ValueError, match="marks"):
            split_url(broken)
        with pytest.raises(ValueError, match="marks"):
            joined_url("http://a.example/", broken)
    with pytest.raises(Invalid):
        new_username(pile)
    known_username(pile)
    Template("{{ text|shortened:60 }}").render(Context({"text": pile}))
    assert longest[0] <= MOST_AT_ONCE


def test_text_that_people_write_is_not_changed_by_it():
    for text in ("Tiếng Việt", "e\u0301\u0323", "हिन्दी", "שָׁלוֹם", "ཀྵཱུ", "x" + "\u0301" * MOST_MARKS):
        for form in ("NFC", "NFKD"):
            assert normalized(text, form) == unicodedata.normalize(form, text)
    assert slug("Émile’s Agent") == "emiles-agent"
    assert split_url("https://bücher.example/ä").hostname == "bücher.example"


def test_what_one_sign_stands_for_is_bounded_too():
    assert len(folded("\ufdfa" * 1_000_000)) == MOST_CHARACTERS


def test_no_door_hands_on_a_pile_of_marks(client, longest):
    c = proposed("One")
    User.objects.update(is_superuser=True)
    client.post("/signin/", {"username": PILE, "password": "x"})
    client.force_login(c.owner)
    client.post(f"/c/{c.pk}/say", {"text": PILE}, headers=HTMX)
    client.get(f"/find?q={quote(PILE[:600])}")
    client.get(f"/api/search?q={quote(PILE[:400])}")
    client.post(f"/c/{c.pk}/attachments?name={quote(PILE[:900])}", b"x", "text/plain")
    client.post("/settings/agents/new", {"name": PILE}, headers=HTMX)
    client.post("/settings/account/name", {"name": PILE}, headers=HTMX)
    client.post("/settings/people/add", {"name": PILE}, headers=HTMX)
    draft = {"conversation": c.pk, "title": "t", "content": PILE, "subtasks": []}
    client.post("/api/plans", draft, "application/json")
    assert 0 < longest[0] <= MOST_AT_ONCE


def test_no_models_reply_hands_one_on(longest):
    c = conversation()
    scripted(say(PILE))
    tell(c, "hello")
    assert texts(c) == [PILE], "what was said is kept as it is"
    assert 0 < longest[0] <= MOST_AT_ONCE


@pytest.mark.parametrize(
    "name", ["a" * 60_000, PILE, "\ufdfa" * LONGEST], ids=["long", "marks", "18"]
)
def test_what_is_no_name_is_a_wrong_sign_in_and_counted(client, name):
    User.objects.create_user("alice", password="correct horse")
    wrong = {"username": name, "password": "x"}
    answers = [client.post("/signin/", wrong).status_code for _ in range(11)]
    assert answers == [403] * 10 + [429]


def test_a_bent_referer_leads_to_the_start_page(client):
    answer = client.post("/c/1/say", headers={"Referer": "http://["})
    assert answer.status_code == 302 and answer.url == "/signin/?next=/"
