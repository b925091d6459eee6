import json

import httpx
import pytest

from agents.models import ToolSource
from tests.agents.petstore import petstore
from tests.inner import http

URL = "http://127.0.0.1:8123"
PETS = {
    "name": "pets",
    "kind": "openapi",
    "url": URL,
    "headers": {"X-Key": "k-secret"},
    "inject": {"lang": "de"},
}


@pytest.fixture(autouse=True)
def _pets_are_there():
    with http.use(httpx.MockTransport(lambda request: httpx.Response(200, json=petstore()))):
        yield


def test_an_admin_adds_a_service_and_sees_its_tools_without_its_secrets(admin):
    made = admin.post("/tools", PETS)
    assert made.status_code == 201
    shown = made.json()
    assert shown["headers"] == ["X-Key"] and shown["inject"] == ["lang"] and shown["url"] == URL
    one = {"name": "pets__get_pet", "description": "One pet", "allowed": True}
    assert {**one, "read_only": False, "says_read_only": True} in shown["tools"]
    listed = admin.get("/tools").json()
    assert listed["count"] == 1 and listed["items"][0]["tools"] == shown["tools"]
    assert "k-secret" not in json.dumps([shown, listed])


def test_only_admins_change_services(admin, bob, said):
    said(bob.post("/tools", PETS), 403)
    admin.post("/tools", PETS)
    said(bob.delete("/tools/pets"), 403)
    said(bob.post("/tools/pets/test"), 403)
    assert ToolSource.objects.count() == 1


def test_everybody_sees_which_tools_there_are_but_not_where_they_live(admin, bob):
    admin.post("/tools", PETS)
    (shown,) = bob.get("/tools").json()["items"]
    assert (shown["url"], shown["command"], shown["headers"]) == (None, None, [])
    assert len(shown["tools"]) == 6


def test_a_service_that_cannot_be_asked_is_refused_and_not_kept(admin, said):
    http.use(httpx.MockTransport(lambda request: httpx.Response(503)))
    assert "503" in said(admin.post("/tools", PETS), 409)
    assert admin.get("/tools").json()["count"] == 0


def test_a_name_that_is_taken_and_values_that_are_wrong_are_refused(admin, said):
    admin.post("/tools", PETS)
    said(admin.post("/tools", PETS), 409)
    said(admin.post("/tools", {**PETS, "name": "shell"}), 409)
    said(admin.post("/tools", {**PETS, "kind": "soap"}), 422)
    said(admin.post("/tools", {**PETS, "token": "x"}), 422)
    said(admin.post("/tools", {"name": "x"}), 422)


def test_a_service_is_asked_again(admin, said):
    admin.post("/tools", PETS)
    http.use(httpx.MockTransport(lambda request: httpx.Response(503)))
    tested = admin.post("/tools/pets/test").json()
    assert "503" in tested["error"] and len(tested["tools"]) == 6
    said(admin.post("/tools/nothing/test"), 404)


def test_a_service_is_removed(admin, said):
    admin.post("/tools", PETS)
    assert admin.delete("/tools/pets").status_code == 204
    said(admin.delete("/tools/pets"), 404)
    assert admin.get("/tools").json() == {"items": [], "count": 0}
