"""Settings > Account: name, password, where one is signed in, and what acts for one."""

import re

import pytest
from django.contrib.auth.models import User
from django.contrib.sessions.models import Session
from django.db import DatabaseError
from django.test import Client

from agents.models import ApiToken, BrowserSession, SigninToken
from tests.inner import browsers, create_token, local_owner, signin_path
from tests.world import HTMX, person, signed_in

pytestmark = pytest.mark.django_db(transaction=True)

PAGE = "/settings/account/"
OLD, NEW = "correct horse", "battery staple"
FIREFOX = "Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0"
IPHONE = (
    "Mozilla/5.0 (iPhone; CPU iPhone OS 18_0 like Mac OS X) AppleWebKit/605.1.15 "
    "(KHTML, like Gecko) Version/18.0 Mobile/15E148 Safari/604.1"
)
EDGE = (
    "Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) "
    "Chrome/141.0.0.0 Safari/537.36 Edg/141.0.0.0"
)


@pytest.fixture
def alice():
    user = person("alice")
    user.set_password(OLD)
    user.save()
    return user


@pytest.fixture
def bob():
    """Signed in by links alone, as the owner of a laptop is."""
    user = person("bob")
    user.set_unusable_password()
    user.save()
    return user


def at(user, user_agent=FIREFOX):
    """A browser of theirs that has opened a page."""
    client = signed_in(user, headers={"User-Agent": user_agent})
    client.get("/plans/")
    return client


def do(client, verb, **values):
    return client.post(PAGE + verb, values, headers=HTMX)


def text(answer):
    return answer.content.decode()


def is_in(client):
    return client.get("/plans/").status_code == 200


# Where one is signed in


def test_browsers_are_listed_by_what_a_person_knows_them_by(alice):
    here, phone = at(alice), at(alice, IPHONE)
    page = text(here.get(PAGE))
    assert "This browser, Firefox on Linux" in page
    assert "Safari on iPhone" in page
    assert "This browser, Safari on iPhone" in text(phone.get(PAGE))


def test_what_is_listed_lets_nobody_in(alice):
    here, phone = at(alice), at(alice, IPHONE)
    page = text(here.get(PAGE))
    for client in (here, phone):
        assert client.cookies["sessionid"].value not in page


@pytest.mark.parametrize(
    ("user_agent", "device"),
    [
        (FIREFOX, "Firefox on Linux"),
        (IPHONE, "Safari on iPhone"),
        (EDGE, "Edge on Windows"),
        ("curl/8.0", "Unknown browser"),
        ("", "Unknown browser"),
        ("<script>alert(1)</script> Android", "Android"),
    ],
)
def test_a_browser_says_only_known_words_about_itself(user_agent, device):
    assert browsers.device_of(user_agent) == device


def test_a_session_is_written_about_once_a_minute(alice, monkeypatch):
    client = at(alice)
    row = BrowserSession.objects.get(user=alice)
    client.get("/plans/")
    assert BrowserSession.objects.get(user=alice).seen_at == row.seen_at
    monkeypatch.setattr(browsers, "_noted", {})
    client.get("/plans/")
    again = BrowserSession.objects.get(user=alice)
    assert again.seen_at > row.seen_at
    assert again.since == row.since


def test_what_cannot_be_written_keeps_nobody_out(alice, monkeypatch):
    def full(*_):
        raise DatabaseError("disk full")

    monkeypatch.setattr(browsers, "write", full)
    assert is_in(signed_in(alice))


def test_a_browser_is_signed_out_from_another(alice):
    here, phone = at(alice), at(alice, IPHONE)
    there = BrowserSession.objects.get(user_agent=IPHONE)
    answer = do(here, f"sessions/{there.pk}/end")
    assert "Safari on iPhone" not in text(answer)
    assert is_in(here)
    assert not is_in(phone)


def test_signing_this_browser_out_leads_to_the_sign_in(alice):
    here = at(alice)
    own = BrowserSession.objects.get(user=alice)
    answer = do(here, f"sessions/{own.pk}/end")
    assert answer.headers["HX-Redirect"] == "/signin/"
    assert not is_in(here)


def test_signing_out_everywhere_else_ends_those_too_that_have_opened_no_page(alice, bob):
    here, phone = at(alice), at(alice, IPHONE)
    silent, other = signed_in(alice), at(bob)
    link = signin_path(alice)
    do(here, "sessions/end")
    assert is_in(here)
    assert is_in(other), "somebody else's stays"
    assert not is_in(phone)
    assert not is_in(silent)
    assert Client().get(link).status_code == 403, "and no link begins another"


def test_a_session_that_ends_is_listed_no_more(alice):
    client = at(alice)
    client.post("/signout/")
    assert not BrowserSession.objects.exists()
    at(alice)
    Session.objects.all().delete()
    assert not BrowserSession.objects.exists()


# Password and name


def test_another_password_wants_the_present_one(alice):
    thief = at(alice)
    answer = do(thief, "password", current_password="a guess", password=NEW, again=NEW)
    assert answer.status_code == 422
    assert "not your present password" in text(answer)
    assert User.objects.get(username="alice").check_password(OLD)


def test_guesses_of_it_are_counted_with_those_of_sign_ins(alice, settings):
    settings.SIGNIN_FAILURES = 2
    thief = at(alice)
    for _ in range(2):
        do(thief, "password", current_password="a guess", password=NEW, again=NEW)
    answer = do(thief, "password", current_password=OLD, password=NEW, again=NEW)
    assert answer.status_code == 429
    assert Client().post("/signin/", {"username": "alice", "password": OLD}).status_code == 429


def test_another_password_keeps_this_browser_and_ends_the_others(alice):
    here, phone = at(alice), at(alice, IPHONE)
    before = here.cookies["sessionid"].value
    answer = do(here, "password", current_password=OLD, password=NEW, again=NEW)
    assert answer.status_code == 200
    assert is_in(here)
    assert not is_in(phone)
    assert here.cookies["sessionid"].value != before, "a stolen key is worth nothing"
    assert "Safari" not in text(answer)
    assert BrowserSession.objects.filter(user=alice).count() == 1
    assert NEW not in text(answer)


def test_tokens_go_on_after_another_password(alice):
    script = Client(headers={"Authorization": f"Bearer {create_token(alice, 'script')}"})
    do(at(alice), "password", current_password=OLD, password=NEW, again=NEW)
    assert script.get("/api/plans").status_code == 200


def test_who_has_no_password_sets_one_and_signs_in_with_it(bob):
    here = at(bob)
    assert "None: you sign in by link." in text(here.get(PAGE))
    assert do(here, "password", password=NEW, again=NEW).status_code == 200
    assert Client().post("/signin/", {"username": "bob", "password": NEW}).status_code == 302
    assert do(here, "password", password=OLD, again=OLD).status_code == 422, "from then on it asks"


@pytest.mark.parametrize(
    ("typed", "again"), [("short", "short"), (NEW, "something else"), ("", "")]
)
def test_a_password_that_cannot_be_changes_nothing(alice, typed, again):
    here, phone = at(alice), at(alice, IPHONE)
    answer = do(here, "password", current_password=OLD, password=typed, again=again)
    assert answer.status_code == 422
    assert is_in(phone)
    assert is_in(here)


def test_another_name_wants_the_present_password_and_signs_in(alice):
    here = at(alice)
    assert do(here, "name", name="alicia").status_code == 422
    assert do(here, "name", name="alicia", current_password=OLD).status_code == 200
    assert is_in(here)
    assert Client().post("/signin/", {"username": "alicia", "password": OLD}).status_code == 302


@pytest.mark.parametrize("name", ["bob", "B0b", "owner", "system", "a b", ""])
def test_nobody_takes_a_name_that_means_somebody_else(alice, bob, name):
    answer = do(at(alice), "name", name=name, current_password=OLD)
    assert answer.status_code in (409, 422)
    assert User.objects.filter(pk=alice.pk, username="alice").exists()


def test_ones_own_name_is_written_another_way(alice):
    assert do(at(alice), "name", name="Alice", current_password=OLD).status_code == 200


def test_the_local_owner_is_so_under_another_name_and_may_have_the_old_one_back():
    owner = local_owner()
    here = at(owner)
    assert do(here, "name", name="mia").status_code == 200
    assert local_owner() == owner
    assert User.objects.count() == 1
    assert do(here, "name", name="owner").status_code == 200
    assert local_owner().username == "owner"


# A link for another browser


def secret_in(answer):
    return re.search(r'<span class="mono" id="[a-z-]+">(.*?)</span>', text(answer))[1]


def test_a_link_is_shown_once_and_works_once(alice):
    here = at(alice)
    answer = do(here, "link", current_password=OLD)
    link = secret_in(answer)
    assert answer.headers["Cache-Control"].count("no-store")
    assert link not in text(here.get(PAGE))
    path = link.removeprefix("http://testserver").replace("&amp;", "&")
    first, second = Client(), Client()
    assert first.get(path).status_code == 302
    assert is_in(first)
    assert second.get(path).status_code == 403


def test_a_link_made_here_lasts_ten_minutes(alice):
    do(at(alice), "link", current_password=OLD)
    link = SigninToken.objects.get(user=alice)
    created = BrowserSession.objects.get(user=alice).seen_at
    assert 590 < (link.expires_at - created).total_seconds() < 620


# Tokens


def test_a_token_is_shown_once_works_and_is_revoked(alice):
    here = at(alice)
    answer = do(here, "tokens/new", name="Nightly build", current_password=OLD)
    secret = secret_in(answer)
    script = Client(headers={"Authorization": f"Bearer {secret}"})
    assert script.get("/api/plans").status_code == 200
    page = text(here.get(PAGE))
    assert "Nightly build" in page
    assert secret not in page
    token = ApiToken.objects.get(user=alice)
    card, _, said = text(do(here, f"tokens/{token.pk}/revoke")).partition("account-said")
    assert "Nightly build" not in card
    assert "Revoked “Nightly build”." in said
    assert script.get("/api/plans").status_code == 401
    assert do(here, f"tokens/{token.pk}/revoke").status_code == 404


@pytest.mark.parametrize("verb", ["tokens/new", "link"])
def test_who_only_holds_a_session_makes_nothing_that_outlives_it(alice, bob, verb):
    before = ApiToken.objects.count(), SigninToken.objects.count()
    for password in ({}, {"current_password": "guess"}):
        answer = do(at(alice), verb, name="Mine", **password)
        assert answer.status_code == 422
        assert "This is not your present password" in text(answer)
    assert (ApiToken.objects.count(), SigninToken.objects.count()) == before
    assert do(at(alice), verb, name="Mine", current_password=OLD).status_code == 200
    assert do(at(bob), verb, name="Mine").status_code == 200, "who has none is not asked"


@pytest.mark.parametrize("name", ["", " ", "x" * 101])
def test_a_token_that_cannot_be_is_refused_in_a_sentence(alice, name):
    answer = do(at(alice), "tokens/new", name=name, current_password=OLD)
    assert answer.status_code == 422
    assert "account-token-alert" in text(answer)


def test_nothing_secret_is_logged(alice, caplog):
    caplog.set_level("DEBUG")
    here = at(alice)
    secrets = [
        secret_in(do(here, "tokens/new", name="n", current_password=OLD)),
        secret_in(do(here, "link", current_password=OLD)),
    ]
    do(here, "password", current_password=OLD, password=NEW, again=NEW)
    for secret in [*secrets, NEW, OLD]:
        assert secret not in caplog.text
