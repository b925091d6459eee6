"""What a person reads when something is not there, not theirs, broken or away."""

import errno
import re

import pytest
from django.core.exceptions import PermissionDenied
from django.db import OperationalError
from django.http import HttpResponse, StreamingHttpResponse
from django.template.loader import render_to_string
from django.test import Client, RequestFactory

from tests.inner import CompressedPages

PAGES = {
    "403": "This is not open to you",
    "403_csrf": "This page is too old",
    "403_origin": "This server does not go by that address",
    "404": "There is nothing here",
    "500": "Something broke inside Planside",
    "503": "The database does not answer",
    "507": "The server’s disk is full",
}


class FullDisk(OperationalError):
    def __init__(self):
        super().__init__("database or disk is full")
        self.__cause__ = OperationalError()
        self.__cause__.sqlite_errorcode = 13


def broken(monkeypatch, error):
    def view(*args, **kwargs):
        raise error

    monkeypatch.setattr("console.views.plan_list.list_context", view)


@pytest.mark.parametrize("name", PAGES)
def test_each_says_what_has_happened_and_one_way_on_without_the_database(name):
    page = render_to_string(f"{name}.html", {"again": "/plans/"})  # no mark: a query would fail
    assert re.findall(r"<h1>([^<]+)</h1>", page) == [PAGES[name]]
    main = re.search(r"<main.*</main>", page, re.S)[0]
    assert "Planside" in main and 'class="logo"' in main
    assert len(re.findall(r"<a class=\"button\"", main)) == 1
    assert len(re.findall(r'<p class="muted">', main)) == 1


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("error", "status", "name"),
    [
        (PermissionDenied(), 403, "403"),
        (RuntimeError("the secret is xyzzy"), 500, "500"),
        (OperationalError("connection refused"), 503, "503"),
        (FullDisk(), 507, "507"),
        (OSError(errno.ENOSPC, "No space left on device"), 507, "507"),
        (OSError(errno.EDQUOT, "Disk quota exceeded"), 507, "507"),
    ],
)
def test_what_a_view_runs_into_is_said_by_its_page(alice, monkeypatch, error, status, name):
    broken(monkeypatch, error)
    alice.raise_request_exception = False
    answer = alice.get("/plans/?q=x")
    assert answer.status_code == status
    assert PAGES[name] in answer.content.decode()
    assert "xyzzy" not in answer.content.decode()
    if status in (503, 507):
        assert 'href="/plans/?q=x" data-again' in answer.content.decode()


@pytest.mark.django_db
def test_a_form_with_an_old_token_leads_back_to_its_page(alice):
    strict = Client(enforce_csrf_checks=True)
    strict.cookies = alice.cookies
    answer = strict.post("/c/new", headers={"Referer": "http://testserver/plans/?q=x"})
    assert answer.status_code == 403
    assert PAGES["403_csrf"] in answer.content.decode()
    assert 'href="/plans/?q=x"' in answer.content.decode()
    assert answer.headers["Planside-Reload"] == "true"


@pytest.mark.parametrize(
    ("referer", "back"),
    [
        ("http://testserver/c/1/", "/c/1/"),
        ("http://elsewhere.example/c/1/", "/"),
        ("", "/"),
    ],
)
@pytest.mark.django_db
def test_a_form_sent_without_a_session_leads_back_to_its_page(client, referer, back):
    answer = client.post("/c/1/say", {"text": "x"}, headers={"Referer": referer})
    assert answer.url == f"/signin/?next={back}"


@pytest.mark.django_db
def test_a_script_without_a_session_is_told_to_load_its_page_again(client):
    answer = client.get("/c/1/changes", headers={"Sec-Fetch-Mode": "cors"})
    assert (answer.status_code, answer.headers["Planside-Reload"]) == (401, "true")
    assert "<" not in answer.content.decode()


@pytest.mark.django_db
def test_the_settings_begin_with_their_first_page(alice):
    assert alice.get("/settings/").url == "/settings/agents/"
    assert alice.get("/settings", follow=True).request["PATH_INFO"] == "/settings/agents/"


# Compression


def compressed(response, **headers):
    request = RequestFactory().get("/", headers={"Accept-Encoding": "gzip", **headers})
    return CompressedPages(lambda _: response)(request)


def test_a_page_is_compressed_and_of_another_length_each_time():
    pages = [compressed(HttpResponse("<p>a page</p>" * 100)) for _ in range(20)]
    assert {page.headers["Content-Encoding"] for page in pages} == {"gzip"}
    assert len({len(page.content) for page in pages}) > 1


@pytest.mark.parametrize("site", ["cross-site", "same-site"])
def test_a_page_that_another_site_asks_for_is_not_compressed(site):
    page = compressed(HttpResponse("<p>a page</p>" * 100), **{"Sec-Fetch-Site": site})
    assert "Content-Encoding" not in page.headers
    assert "no-transform" in page.headers["Cache-Control"]


def test_neither_streams_nor_the_api_are_compressed():
    answers = [
        StreamingHttpResponse(["data: x\n\n"] * 200, content_type="text/event-stream"),
        HttpResponse('{"token": "x"}' * 100, "application/json"),
    ]
    for answer in answers:
        assert "Content-Encoding" not in compressed(answer).headers


@pytest.mark.django_db
def test_a_fragment_that_a_page_knows_is_still_known_compressed(alice):
    first = alice.get("/sidebar", headers={"Accept-Encoding": "gzip"})
    again = alice.get("/sidebar", headers={"If-None-Match": first.headers["ETag"]})
    assert again.status_code == 304
