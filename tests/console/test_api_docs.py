"""The API's operations can be read in a browser, without scripts or anything from elsewhere."""

import pytest

from tests.inner import api

pytestmark = pytest.mark.django_db


def test_every_operation_of_the_openapi_document_is_on_the_page(alice):
    page = alice.get("/api/docs")
    assert page.status_code == 200
    text = page.content.decode()
    assert 'src="http' not in text
    assert "<script" not in text
    paths = alice.get("/api/openapi.json").json()["paths"]
    for path, methods in paths.items():
        for method in methods:
            assert f"{method.upper()} {path}<" in text
    assert "A yes to exactly this version" in text
    assert "version, without_comments, run" in text


def test_the_address_of_the_api_leads_to_it(alice):
    assert alice.get("/api/", follow=True).redirect_chain == [("/api/docs", 302)]


@pytest.mark.parametrize("path", ["/api/docs", "/api/"])
def test_without_a_session_it_asks_for_a_sign_in_like_every_page(client, path):
    last, _ = client.get(path, follow=True).redirect_chain[-1]
    assert last == "/signin/?next=/api/docs"


def test_what_is_not_there_is_still_said_as_the_api_says_it(alice):
    assert alice.get("/api/nothing").status_code == 404
    assert "detail" in alice.get("/api/nothing").json()


def test_no_field_has_an_object_by_default():
    """Generators of clients leave out what has one: openapi-python-client Task, and so Chain."""

    def faults(value, place):
        if isinstance(value, dict):
            if isinstance(value.get("default"), dict) and value["default"]:
                yield place
            for key, each in value.items():
                yield from faults(each, f"{place}.{key}")

    assert list(faults(api.get_openapi_schema(), "")) == []
