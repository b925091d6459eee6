from datetime import timedelta

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.utils import timezone

from agents.models import SigninToken
from tests.inner import SPENT, local_owner, signin_path

pytestmark = pytest.mark.django_db

MOST_FAILURES = 10


@pytest.fixture
def link():
    return signin_path(local_owner())


@pytest.fixture
def alice():
    return User.objects.create_user("alice", password="correct horse")


def signed_in(client):
    return "_auth_user_id" in client.session


def test_the_link_signs_the_owner_in_and_leads_to_the_start_page(client, link):
    answer = client.get(link)
    assert (answer.status_code, answer.url) == (302, "/")
    assert signed_in(client)


def test_the_address_bar_does_not_keep_the_token(client, link):
    assert "token" not in client.get(link).url


def test_the_link_works_once(client, link):
    client.get(link)
    other = Client()
    answer = other.get(link)
    assert answer.status_code == 403
    assert str(SPENT) in answer.content.decode()
    assert not signed_in(other)


def test_a_used_link_in_a_browser_that_is_signed_in_goes_on(client, link):
    client.get(link)
    assert client.get(link).url == "/"


def test_a_link_is_stale_after_a_day(client, link):
    SigninToken.objects.update(expires_at=timezone.now() - timedelta(seconds=1))
    assert client.get(link).status_code == 403


def test_the_next_start_ends_the_link_printed_before(client, link):
    signin_path(local_owner())
    assert client.get(link).status_code == 403


def test_the_database_never_holds_the_link_itself(link):
    assert link.rpartition("=")[2] != SigninToken.objects.get().digest


@pytest.mark.parametrize("token", ["", "x", "x" * 5000, "%ff"])
def test_an_invented_link_signs_nobody_in(client, link, token):
    assert client.get(f"/signin/?token={token}").status_code == 403
    assert not signed_in(client)


def test_a_look_ahead_does_not_use_up_the_link(client, link):
    client.head(link)
    client.get(link, headers={"Sec-Purpose": "prefetch;prerender"})
    client.get(link, headers={"Purpose": "prefetch"})
    assert not signed_in(client)
    client.get(link)
    assert signed_in(client)


def test_the_owner_has_no_password_to_guess(client):
    local_owner()
    for guess in ("", "owner", "!"):
        answer = client.post("/signin/", {"username": "owner", "password": guess})
        assert answer.status_code == 403


def test_a_person_with_a_password_signs_in(client, alice):
    answer = client.post("/signin/", {"username": "alice", "password": "correct horse"})
    assert answer.status_code == 302
    assert signed_in(client)


def test_a_wrong_password_is_said_without_saying_which_half_is_wrong(client, alice):
    one = client.post("/signin/", {"username": "alice", "password": "x"})
    two = client.post("/signin/", {"username": "nobody", "password": "x"})
    assert one.status_code == two.status_code == 403
    assert "do not belong together" in one.content.decode()
    assert "do not belong together" in two.content.decode()


def test_guessing_is_stopped_even_when_the_next_guess_is_right(client, alice):
    for _ in range(MOST_FAILURES):
        client.post("/signin/", {"username": "alice", "password": "x"})
    answer = client.post("/signin/", {"username": "alice", "password": "correct horse"})
    assert answer.status_code == 429
    assert not signed_in(client)


def test_guessing_from_one_address_does_not_shut_out_another(client, alice):
    for _ in range(MOST_FAILURES):
        client.post("/signin/", {"username": "alice", "password": "x"})
    right = {"username": "alice", "password": "correct horse"}
    assert Client(REMOTE_ADDR="10.0.0.7").post("/signin/", right).status_code == 302


def test_a_caller_cannot_invent_addresses_behind_a_proxy(client, alice, settings):
    settings.PLANSIDE_IS_LOCAL = False
    wrong = {"username": "alice", "password": "x"}
    for n in range(MOST_FAILURES):
        client.post("/signin/", wrong, headers={"X-Forwarded-For": f"1.2.3.{n}, 10.0.0.7"})
    answer = client.post("/signin/", wrong, headers={"X-Forwarded-For": "9.9.9.9, 10.0.0.7"})
    assert answer.status_code == 429


def test_signing_in_demands_the_forms_own_token(alice):
    strict = Client(enforce_csrf_checks=True)
    answer = strict.post("/signin/", {"username": "alice", "password": "correct horse"})
    assert answer.status_code == 403
    assert not signed_in(strict)


@pytest.mark.parametrize("wanted", ["/c/3/", "/settings/agents/?a=b"])
def test_one_arrives_where_one_wanted_to_go(client, link, wanted):
    assert client.get(link, {"token": link.rpartition("=")[2], "next": wanted}).url == wanted


@pytest.mark.parametrize(
    "wanted",
    ["https://elsewhere.example/", "//elsewhere.example", "javascript:alert(1)", "\\\\x.y"],
)
def test_nobody_is_led_to_another_site(client, link, wanted):
    assert client.get("/signin/", {"token": link.rpartition("=")[2], "next": wanted}).url == "/"


def test_a_page_asks_for_the_sign_in_and_remembers_where_to_go(client):
    answer = client.get("/somewhere/?x=1")
    assert answer.url == "/signin/?next=/somewhere/%3Fx%3D1"


def test_the_page_itself_is_open_and_never_kept_by_a_cache(client):
    answer = client.get("/signin/")
    assert answer.status_code == 200
    assert "no-store" in answer.headers["Cache-Control"]


def test_signing_out_is_a_post(client, link):
    client.get(link)
    assert client.get("/signout/").status_code == 405
    assert signed_in(client)
    assert client.post("/signout/").status_code == 302
    assert not signed_in(client)


@pytest.mark.parametrize("wanted", ["-1", "0", "inf", "home", "²", "\n/", "agents.x"])
def test_what_is_no_path_leads_to_the_start_page(client, alice, wanted):
    client.force_login(alice)
    assert client.get("/signin/", {"next": wanted}).url == "/"


def test_a_link_replaces_nobody_who_is_signed_in_without_a_word(client, link, alice):
    client.force_login(alice)
    page = client.get(f"{link}&next=/plans/").content.decode()
    assert "You are signed in here as alice." in page and "Sign in as owner" in page
    assert client.session["_auth_user_id"] == str(alice.pk)
    assert SigninToken.objects.get().used_at is None, "it still works"
    token = link.rpartition("=")[2]
    answer = client.post("/signin/", {"token": token, "next": "/plans/"})
    assert (answer.status_code, answer.url) == (302, "/plans/")
    assert client.session["_auth_user_id"] == str(local_owner().pk)
    assert client.post("/signin/", {"token": token}).status_code == 403, "once"


def test_the_answer_to_that_question_comes_from_that_page_alone(link, alice):
    client = Client(enforce_csrf_checks=True)
    client.force_login(alice)
    assert client.post("/signin/", {"token": link.rpartition("=")[2]}).status_code == 403
    assert client.session["_auth_user_id"] == str(alice.pk)


def test_a_link_of_ones_own_asks_nothing(client, link):
    client.force_login(local_owner())
    assert client.get(link).url == "/"
