"""`manage.py tools`, run as a person runs it; and a server that uses and ends what was added."""

import asyncio
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from tests.agents.petstore import many, petstore
from tests.console.serving import ROOT, Started, command, prepare, token_for
from tests.inner import call_operation
from tests.patience import at_most, until

SCRIPT = ROOT / "tests" / "agents" / "mcp_server.py"
COMMAND = f"{sys.executable} -W ignore {SCRIPT}"


def tools(home, *arguments):
    return command(home, "tools", *arguments)


def refused(home, *arguments):
    done = tools(home, *arguments)
    assert done.returncode != 0 and done.stdout == ""
    assert "Traceback" not in done.stderr and done.stderr.count("\n") == 1
    return done.stderr.strip()


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    home = tmp_path_factory.mktemp("home")
    prepare(home)
    return home


def test_a_service_is_changed_and_what_is_not_named_stays(home):
    pytest.importorskip("mcp", reason="the package mcp is not installed")
    given = ("--mcp", COMMAND, "--header", "TOKEN=tok-12345", "--timeout", "9")
    assert tools(home, "add", "changing", *given).returncode == 0
    done = tools(home, "change", "changing", "--allow", "echo", "--allow", "co*", "--json")
    assert done.returncode == 0, done.stderr
    changed = json.loads(done.stdout)
    assert {each["name"] for each in changed["tools"] if each["allowed"]} == {
        "changing__echo",
        "changing__count",
    }
    assert (changed["timeout_s"], changed["headers"]) == (9, ["TOKEN"])
    assert "changing__fail  (not allowed)" in tools(home, "test", "changing").stdout
    assert "is called 'ecco'" in refused(home, "change", "changing", "--allow", "ecco")
    another = ("--mcp", f"{COMMAND} other")
    assert "enter environment variables again" in refused(home, "change", "changing", *another)
    assert "stays of its kind" in refused(
        home, "change", "changing", "--openapi", "http://x.example"
    )
    free = tools(home, "change", "changing", "--allow", "*", "--forget", "headers", "--json")
    assert json.loads(free.stdout)["note"] == "" and json.loads(free.stdout)["headers"] == []
    assert tools(home, "remove", "changing").returncode == 0


def still_running(script):
    found = subprocess.run(["pgrep", "-f", str(script)], capture_output=True, text=True)
    return {int(pid) for pid in found.stdout.split()} - {os.getpid()}


def test_an_mcp_server_is_added_listed_tested_and_removed(home, tmp_path):
    pytest.importorskip("mcp", reason="the package mcp is not installed")
    mine = tmp_path / "server.py"  # other tests run SCRIPT at the same time
    mine.write_text(SCRIPT.read_text())
    command = f"{sys.executable} -W ignore {mine}"
    done = tools(home, "add", "small", "--mcp", command, "--header", "TOKEN=tok-12345", "--json")
    assert done.returncode == 0, done.stderr
    added = json.loads(done.stdout)
    echo = {"name": "small__echo", "description": "Says it back.", "allowed": True}
    assert {**echo, "read_only": False, "says_read_only": True} in added["tools"]
    assert added["headers"] == ["TOKEN"] and "tok-12345" not in done.stdout
    assert json.loads(tools(home, "list", "--json").stdout)[0]["name"] == "small"
    assert "(reads)" not in tools(home, "test", "small").stdout
    assert tools(home, "trust", "small").returncode == 0
    assert "small__echo  (reads)" in tools(home, "test", "small").stdout
    assert "already registered" in refused(home, "add", "small", "--mcp", command)
    assert tools(home, "remove", "small").returncode == 0
    assert tools(home, "list").stdout == ""
    assert still_running(mine) == set()


def test_a_service_is_added_from_a_file(home, tmp_path):
    spec = tmp_path / "pets.json"
    spec.write_text(json.dumps(petstore()))
    where = ("--openapi", "http://127.0.0.1:9", "--spec", str(spec))
    done = tools(
        home,
        "add",
        "pets",
        *where,
        "--header",
        "X-Key: k-12345",
        "--inject",
        "lang=de",
        "--trust-hints",
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith(
        "pets  openapi  http://127.0.0.1:9  6 tools\n  pets__get_pet  (reads)\n"
    )
    spec.write_text(yaml.safe_dump(many(300)).replace("get:", "get: 3\n    put:", 1))
    told = tools(home, "add", "many", *where).stdout
    assert told.count("many__thing") == 300 and "300 of 301 operations" in told


def test_what_cannot_be_added_is_one_sentence_and_leaves_nothing(home, tmp_path):
    before = tools(home, "list", "--json").stdout
    spec = tmp_path / "pets.yaml"
    spec.write_text("openapi: 3.0.0\n")
    pets = ("--openapi", "http://127.0.0.1:9")
    assert "the connection failed" in refused(home, "add", "gone", *pets)
    assert "paths" in refused(home, "add", "yaml", *pets, "--spec", str(spec))
    spec.write_text("openapi: {]\n")
    assert "YAML" in refused(home, "add", "yaml", *pets, "--spec", str(spec))
    assert "No such file" in refused(home, "add", "yaml", *pets, "--spec", "nothing.json")
    assert "built in" in refused(home, "add", "shell", *pets)
    assert "name:value" in refused(home, "add", "x", *pets, "--header", "topsecret")
    assert "cannot be started" in refused(home, "add", "x", "--mcp", "/no/such")
    assert "No service" in refused(home, "remove", "nothing")
    assert "No service" in refused(home, "test", "nothing")
    assert tools(home, "list", "--json").stdout == before


def test_planside_is_a_service_of_its_own(tmp_path):
    server = Started(tmp_path)
    try:
        token = token_for(tmp_path)
        bearer = f"Authorization: Bearer {token}"
        done = tools(
            tmp_path,
            "add",
            "planside",
            "--openapi",
            f"{server.address}/api",
            "--header",
            bearer,
            "--json",
        )
        assert done.returncode == 0, done.stderr
        names = {tool["name"] for tool in json.loads(done.stdout)["tools"]}
        assert len(names) > 30 and all(len(name) <= 64 for name in names)
        told = asyncio.run(list_agents(server.address, token))
        assert told.startswith("200 OK") and "docs-writer" in told
    finally:
        server.end()


async def list_agents(address, token):
    from agents.tools.integrations.openapi.documents import read_operations

    operations, _ = await read_operations(f"{address}/api", None, {}, 54)
    (wanted,) = [
        o for o in operations if (o["method"], o["url"]) == ("GET", f"{address}/api/agents")
    ]
    return (await call_operation(wanted, {}, {"Authorization": f"Bearer {token}"}, 20)).text


def test_a_server_that_stops_leaves_no_mcp_server_behind(tmp_path):
    """The server is ended while it asks one that never answers."""
    pytest.importorskip("mcp", reason="the package mcp is not installed")
    server = Started(tmp_path)
    marker = tmp_path / "started"
    starting = f"sh -c 'echo $$ > {marker}; sleep 99 & sleep 98'"
    token = token_for(tmp_path)
    body = json.dumps({"name": "slow", "kind": "mcp", "command": starting})
    asking = subprocess.Popen(
        [sys.executable, "-c", ASK, f"{server.address}/api/tools", token, body],
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    group = int(until(lambda: marker.exists() and marker.read_text()))
    seconds, code, _, _ = server.end()
    asking.wait(60)
    assert code == 0 and seconds < at_most(3)
    left = subprocess.run(["pgrep", "-g", str(group)], capture_output=True, text=True).stdout
    assert [pid for pid in left.split() if not is_dead(pid)] == []


def is_dead(pid):
    try:
        return Path(f"/proc/{pid}/stat").read_text().split()[2] == "Z"
    except OSError:
        return True


ASK = """
import sys, httpx
url, token, body = sys.argv[1:]
headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}
httpx.post(url, content=body, headers=headers, timeout=60)
"""
