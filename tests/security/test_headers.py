"""What every page and every answer says to the browser, and the token every form needs."""

import re

import pytest
from django.contrib.auth.models import User
from django.test import Client

from tests.security.addresses import METHODS, operations, pages
from tests.security.test_isolation import NOBODYS, owner_word, world
from tests.world import HTMX, signed_in

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("nobody_answers")]

__all__ = ["world"]  # a fixture that every test here uses

OPEN = {"signin/", "healthz", "readyz", "metrics"}
EXPECTED = {
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
}
UNSAFE = ("unsafe", "*", "http:", "https:", "data: ;")

# Of a picture or another file of somebody's: it may do nothing.
NOTHING = "default-src 'none'; frame-ancestors 'none'; sandbox"


@pytest.fixture
def alice(world):
    things = world.alice
    User.objects.filter(pk=things.user.pk).update(is_superuser=True)
    things.user.refresh_from_db()
    return things


def path_of(page, things):
    values = {name: getattr(things, name, "shared") for name in page.names}
    if page.names and not page.route.startswith(NOBODYS):
        values[page.names[0]] = getattr(things, owner_word(page))
    return page.at(values)


def directives(answer):
    policy = answer.headers["Content-Security-Policy"]
    return dict(part.strip().partition(" ")[::2] for part in policy.split(";"))


def check(answer, path):
    for name, value in EXPECTED.items():
        assert answer.headers.get(name) == value, (path, name)
    policy = directives(answer)
    assert policy["default-src"] == "'self'", path
    assert policy["frame-ancestors"] == policy["base-uri"] == policy["object-src"] == "'none'"
    assert policy["form-action"] == "'self'"
    assert policy["script-src"] == "'self'", "no inline script, no eval"
    assert set(policy) <= {
        "default-src", "script-src", "img-src", "object-src", "base-uri", "frame-ancestors",
        "form-action",
    }, "style has no rule of its own: 'self' alone, nothing inline"  # fmt: skip
    assert not any(word in answer.headers["Content-Security-Policy"] for word in UNSAFE), path


def test_every_page_says_what_it_may_load_and_who_may_frame_it(alice):
    client = signed_in(alice.user)
    for page in pages():
        path = path_of(page, alice)
        for headers in ({}, HTMX):
            answer = client.get(path, headers=headers)
            if answer.headers["Content-Type"].startswith(("image/", "application/zip")):
                assert answer.headers["Content-Security-Policy"] == NOTHING, path
                continue
            check(answer, path)
            if answer.status_code == 200 and "text/html" in answer.headers["Content-Type"]:
                assert answer.headers.get("X-Frame-Options") == "DENY", path
                no_inline(answer.content.decode(), path)


KEPT_LONG = re.compile(r"^/(texts|static)/|/(images?|attachments|files)/")


def test_no_proxy_keeps_what_a_person_sees_and_no_browser_shows_it_unasked(alice):
    client = signed_in(alice.user)
    for page in pages():
        path = path_of(page, alice)
        kept = client.get(path).headers.get("Cache-Control", "")
        if "immutable" in kept:
            assert KEPT_LONG.search(path), path
            continue
        assert re.search(r"no-cache|no-store", kept), (path, kept)
        assert "private" in kept or path.startswith(("/healthz", "/readyz", "/metrics")), path
    for operation in operations():
        if operation.method == "GET" and "{" not in operation.path:
            kept = client.get(operation.path).headers["Cache-Control"]
            assert "private" in kept, (operation, kept)
    for secret in ("/settings/account/", "/settings/models/", "/api/plans"):
        assert "no-store" in client.get(secret).headers["Cache-Control"], secret


def no_inline(html, path):
    assert not re.search(r"<script(?![^>]*\ssrc=)", html), path
    assert not re.search(r"<[^>]+\s(on[a-z]+|style|hx-on[^=]*)=", html), path
    assert "<style" not in html, path
    assert "javascript:" not in html, path


@pytest.mark.parametrize(
    "path",
    ["/nothing", "/c/999/", "/api/nothing", "/api/plans", "/api/openapi.json", "/signin/?token=x"],
)
def test_refusals_say_it_too(path, db):
    check(Client().get(path), path)


def test_a_page_that_breaks_says_it_too(alice, monkeypatch):
    def broken(request):
        raise RuntimeError("the secret is xyzzy")

    monkeypatch.setattr("console.views.plan_list.list_context", broken)
    client = signed_in(alice.user, raise_request_exception=False)
    answer = client.get("/plans/")
    assert answer.status_code == 500
    assert "xyzzy" not in answer.content.decode()
    check(answer, "/plans/")


def test_a_file_of_ours_says_it_too_and_no_other_site_reads_it(db):
    answer = Client().get("/static/js/page.js")
    assert answer.status_code == 200
    b"".join(answer)
    answer.close()
    check(answer, "page.js")
    assert "Access-Control-Allow-Origin" not in answer.headers


def test_every_form_needs_its_token(alice):
    client = signed_in(alice.user, enforce_csrf_checks=True)
    lenient = signed_in(alice.user)
    tried = 0
    for page in pages():
        path = path_of(page, alice)
        answer = client.post(path, headers=HTMX)
        assert answer.status_code in (403, 405), (path, answer.status_code)
        if answer.status_code == 405:  # it takes no POST at all
            assert lenient.post(path, headers=HTMX).status_code == 405, path
        tried += answer.status_code == 403
    assert tried > 40


def test_every_changing_operation_needs_the_token_with_a_session_and_none_with_a_bearer(alice):
    client = signed_in(alice.user, enforce_csrf_checks=True)
    for operation in operations():
        if operation.method != "GET":
            path = re.sub(r"{[^}]+}", "1", operation.path)
            answer = client.generic(operation.method, path, "{}", content_type="application/json")
            assert answer.status_code == 403, operation
            assert "CSRF" in answer.json()["detail"], operation


@pytest.mark.parametrize("origin", ["https://elsewhere.example", "http://testserver:99", "null"])
def test_a_form_of_another_origin_is_refused_even_with_a_token(alice, origin):
    client = signed_in(alice.user, enforce_csrf_checks=True)
    token = client.get(f"/c/{alice.conversation}/").cookies["csrftoken"].value
    sent = {"csrfmiddlewaretoken": token, "text": "/help"}
    path = f"/c/{alice.conversation}/say"
    assert client.post(path, sent, headers={"Origin": origin}).status_code == 403
    assert client.post(path, sent, headers={"Origin": "http://testserver"}).status_code == 302


def test_without_a_session_nothing_but_the_door_is_open(alice):
    stranger = Client()
    for page in pages():
        path = path_of(page, alice)
        if page.route in OPEN:
            continue
        for method in METHODS:
            answer = stranger.generic(method, path)
            assert answer.status_code in (302, 403, 405), (method, path)
            if answer.status_code == 302:
                assert answer.headers["Location"].startswith("/signin/"), path
    for operation in operations():
        path = re.sub(r"{[^}]+}", "1", operation.path)
        answer = stranger.generic(operation.method, path, "{}", content_type="application/json")
        assert answer.status_code == 401, operation


@pytest.fixture
def on_a_server(settings):
    """As the settings are where PLANSIDE_ALLOWED_HOSTS names one."""
    settings.ALLOWED_HOSTS = ["planside.example"]
    settings.SECURE_SSL_REDIRECT = True
    settings.SECURE_HSTS_SECONDS = 60 * 60 * 24 * 365
    settings.SESSION_COOKIE_SECURE = settings.CSRF_COOKIE_SECURE = True
    settings.SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https")


def test_behind_tls_the_browser_is_told_to_stay_there(on_a_server, db):
    behind = {"Host": "planside.example", "X-Forwarded-Proto": "https"}
    answer = Client().get("/signin/", headers=behind)
    assert answer.headers["Strict-Transport-Security"] == "max-age=31536000"
    assert answer.cookies["csrftoken"]["secure"]


def test_a_browser_that_knows_the_server_by_another_port_is_told_so(on_a_server, db):
    behind = {"Host": "planside.example", "X-Forwarded-Proto": "https"}
    client = Client(enforce_csrf_checks=True)
    token = client.get("/signin/", headers=behind).context["csrf_token"]
    form = {"username": "a", "password": "b", "csrfmiddlewaretoken": str(token)}
    at = {**behind, "Origin": "https://planside.example:8443"}
    answer = client.post("/signin/", form, headers=at)
    assert answer.status_code == 403
    told = " ".join(answer.content.decode().split())
    assert "Your browser is at https://planside.example:8443. Name that host" in told


def test_without_tls_a_server_only_leads_there(on_a_server, db):
    answer = Client().get("/signin/?x=1", headers={"Host": "planside.example"})
    assert (answer.status_code, answer.url) == (301, "https://planside.example/signin/?x=1")


def test_the_sessions_cookie_is_kept_from_scripts_and_other_sites(alice):
    client = Client()
    User.objects.filter(pk=alice.user.pk).update(password="")
    alice.user.set_password("correct horse")
    alice.user.save()
    client.post("/signin/", {"username": "alice", "password": "correct horse"})
    cookie = client.cookies["sessionid"]
    assert cookie["httponly"]
    assert cookie["samesite"] == "Lax"
