import pytest
from django.test import Client

from tests.inner import revoke_token


@pytest.fixture
def browser(alice):
    client = Client(enforce_csrf_checks=True)
    client.force_login(alice.user)
    return client


def test_without_a_sign_in_nothing_is_shown(client, db, said):
    answer = client.get("/api/plans")
    assert "Authorization: Bearer" in said(answer, 401)
    assert answer.headers["WWW-Authenticate"] == "Bearer"


@pytest.mark.parametrize("method", ["post", "patch", "delete"])
def test_without_a_sign_in_nothing_is_changed(client, db, said, method):
    said(getattr(client, method)("/api/conversations/1"), 405 if method == "post" else 401)


def test_a_token_speaks_for_its_person(alice):
    assert alice.get("/conversations").status_code == 200


@pytest.mark.parametrize("header", ["Bearer x", "bearer ", "Bearer \xe9", "Basic eDp5", "x"])
def test_a_wrong_token_is_refused(client, db, said, header):
    said(client.get("/api/plans", headers={"Authorization": header}), 401)


def test_a_revoked_token_is_refused(alice, said):
    revoke_token(alice.user, "script")
    assert "revoked" in said(alice.get("/plans"), 401)


def test_a_wrong_token_is_refused_even_beside_a_good_cookie(browser, said):
    said(browser.get("/api/plans", headers={"Authorization": "Bearer x"}), 401)


def test_a_session_reads(browser):
    assert browser.get("/api/conversations").status_code == 200


def test_a_session_changes_nothing_without_the_csrf_token(browser, said):
    answer = browser.post(
        "/api/conversations", {"agent": "alice-writer"}, content_type="application/json"
    )
    assert "CSRF" in said(answer, 403)


def test_a_session_with_the_csrf_token_changes(browser):
    csrf = "a" * 32
    browser.cookies["csrftoken"] = csrf
    answer = browser.post(
        "/api/conversations",
        {"agent": "alice-writer"},
        content_type="application/json",
        headers={"X-CSRFToken": csrf},
    )
    assert answer.status_code == 201


def test_the_openapi_document_is_open_and_names_both_ways_in(client, db):
    document = client.get("/api/openapi.json").json()
    assert {"Token", "Session"} == set(document["components"]["securitySchemes"])
