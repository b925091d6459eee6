import json

import pytest
from django.contrib.auth.models import User
from django.test import Client

from tests.inner import create_agent, create_token, set_owner


class Api:
    """The API as one person's script sees it: JSON in, JSON out."""

    def __init__(self, name):
        self.user = User.objects.create_user(name)
        token = create_token(self.user, "script")
        self.client = Client(headers={"Authorization": f"Bearer {token}"})

    def __call__(self, method, path, body=None, **headers):
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        sent = {} if body is None else {"data": json.dumps(body)}
        return self.client.generic(
            method, f"/api{path}", content_type="application/json", headers=named, **sent
        )

    def get(self, path, **headers):
        return self("GET", path, **headers)

    def post(self, path, body=None, **headers):
        return self("POST", path, body, **headers)

    def patch(self, path, body, **headers):
        return self("PATCH", path, body, **headers)

    def put(self, path, body, **headers):
        return self("PUT", path, body, **headers)

    def delete(self, path, **headers):
        return self("DELETE", path, **headers)

    def talk(self):
        """The id of a new conversation with the person's agent."""
        return self.post("/conversations", {"agent": f"{self.user.username}-writer"}).json()["id"]


def person(name):
    """Someone with an agent of their own, in which plan mode is on."""
    api = Api(name)
    values = {"name": f"{name}'s writer", "plan": {"enabled": True}}
    agent = create_agent(f"{name}-writer", {**values, "tools": {"read_file": "allow"}})
    set_owner(api.user, agent.id)
    return api


@pytest.fixture(autouse=True)
def home(tmp_path, settings):
    settings.PLANSIDE_HOME = tmp_path
    return tmp_path


@pytest.fixture
def alice(db):
    return person("alice")


@pytest.fixture
def bob(db):
    return person("bob")


@pytest.fixture
def admin(alice):
    """Alice, who is an admin now."""
    alice.user.is_superuser = True
    alice.user.save()
    return alice


def sentence(answer, status):
    """The one sentence of a refusal."""
    assert answer.status_code == status, answer.content
    assert answer.headers["Content-Type"].startswith("application/json")
    told = answer.json()["detail"]
    assert isinstance(told, str) and told.endswith((".", ">.")) and "\n" not in told
    return told


@pytest.fixture
def said():
    return sentence
