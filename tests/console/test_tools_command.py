"""`manage.py tools`: services are added, changed, asked, trusted and removed."""

import asyncio
import json

import httpx
import pytest
import yaml
from django.core.handlers.asgi import ASGIHandler

from tests.agents.petstore import many, petstore
from tests.inner import call_operation, create_token, http, local_owner, read_operations


@pytest.fixture
def tools(cli):
    def run(*arguments):
        return cli("tools", *arguments)

    return run


@pytest.fixture
def done(tools):
    """What it prints where it has to work."""

    def printed(*arguments):
        code, out, err = tools(*arguments)
        assert code == 0, err
        return out

    return printed


@pytest.fixture
def refused(tools):
    """The one sentence of a refusal."""

    def sentence(*arguments):
        code, out, err = tools(*arguments)
        assert (code, out, err.count("\n")) == (1, "", 1)
        return err.strip()

    return sentence


@pytest.fixture
def command(programs):
    """What starts a small MCP server."""
    pytest.importorskip("mcp", reason="the package mcp is not installed")
    from tests.agents.mcp_server import serve

    return programs.add("small", serve)


def test_a_service_is_changed_and_what_is_not_named_stays(done, refused, command):
    given = ("--mcp", command, "--header", "TOKEN=tok-12345", "--timeout", "9")
    done("add", "changing", *given)
    changed = json.loads(done("change", "changing", "--allow", "echo", "--allow", "co*", "--json"))
    assert {each["name"] for each in changed["tools"] if each["allowed"]} == {
        "changing__echo",
        "changing__count",
    }
    assert (changed["timeout_s"], changed["headers"]) == (9, ["TOKEN"])
    assert "changing__fail  (not allowed)" in done("test", "changing")
    assert "is called 'ecco'" in refused("change", "changing", "--allow", "ecco")
    another = ("--mcp", f"{command} other")
    assert "enter environment variables again" in refused("change", "changing", *another)
    assert "stays of its kind" in refused("change", "changing", "--openapi", "http://x.example")
    free = json.loads(done("change", "changing", "--allow", "*", "--forget", "headers", "--json"))
    assert (free["note"], free["headers"]) == ("", [])
    done("remove", "changing")


def test_an_mcp_server_is_added_listed_tested_and_removed(done, refused, command, programs):
    printed = done("add", "small", "--mcp", command, "--header", "TOKEN=tok-12345", "--json")
    added = json.loads(printed)
    echo = {"name": "small__echo", "description": "Says it back.", "allowed": True}
    assert {**echo, "read_only": False, "says_read_only": True} in added["tools"]
    assert added["headers"] == ["TOKEN"] and "tok-12345" not in printed
    assert json.loads(done("list", "--json"))[0]["name"] == "small"
    assert "(reads)" not in done("test", "small")
    done("trust", "small")
    assert "small__echo  (reads)" in done("test", "small")
    assert "already registered" in refused("add", "small", "--mcp", command)
    done("remove", "small")
    assert done("list") == ""
    assert programs.started and programs.running == []


def test_a_service_is_added_from_a_file(done, tmp_path):
    spec = tmp_path / "pets.json"
    spec.write_text(json.dumps(petstore()))
    where = ("--openapi", "http://127.0.0.1:9", "--spec", spec)
    more = ("--header", "X-Key: k-12345", "--inject", "lang=de", "--trust-hints")
    assert done("add", "pets", *where, *more).startswith(
        "pets  openapi  http://127.0.0.1:9  6 tools\n  pets__get_pet  (reads)\n"
    )
    spec.write_text(yaml.safe_dump(many(300)).replace("get:", "get: 3\n    put:", 1))
    told = done("add", "many", *where)
    assert told.count("many__thing") == 300 and "300 of 301 operations" in told


def refuse(request):
    raise httpx.ConnectError("Nobody listens there.", request=request)


def test_what_cannot_be_added_is_one_sentence_and_leaves_nothing(done, refused, tmp_path):
    before = done("list", "--json")
    spec = tmp_path / "pets.yaml"
    spec.write_text("openapi: 3.0.0\n")
    pets = ("--openapi", "http://127.0.0.1:9")
    with http.use(httpx.MockTransport(refuse)):
        assert "the connection failed" in refused("add", "gone", *pets)
    assert "paths" in refused("add", "yaml", *pets, "--spec", spec)
    spec.write_text("openapi: {]\n")
    assert "YAML" in refused("add", "yaml", *pets, "--spec", spec)
    assert "No such file" in refused("add", "yaml", *pets, "--spec", "nothing.json")
    assert "built in" in refused("add", "shell", *pets)
    assert "name:value" in refused("add", "x", *pets, "--header", "topsecret")
    assert "cannot be started" in refused("add", "x", "--mcp", "/no/such")
    assert "No service" in refused("remove", "nothing")
    assert "No service" in refused("test", "nothing")
    assert done("list", "--json") == before


def test_planside_is_a_service_of_its_own(done):
    token = create_token(local_owner(), "script")
    bearer, address = f"Authorization: Bearer {token}", "http://127.0.0.1:8000"
    with http.use(httpx.ASGITransport(ASGIHandler())):
        added = done("add", "planside", "--openapi", f"{address}/api", "--header", bearer, "--json")
        told = asyncio.run(list_agents(address, token))
    names = {tool["name"] for tool in json.loads(added)["tools"]}
    assert len(names) > 30 and all(len(name) <= 64 for name in names)
    assert told.startswith("200 OK") and "docs-writer" in told


async def list_agents(address, token):
    operations, _ = await read_operations(f"{address}/api", None, {}, 54)
    (wanted,) = [
        o for o in operations if (o["method"], o["url"]) == ("GET", f"{address}/api/agents")
    ]
    return (await call_operation(wanted, {}, {"Authorization": f"Bearer {token}"}, 20)).text
