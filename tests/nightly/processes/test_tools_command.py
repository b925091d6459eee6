"""`manage.py tools` and the processes of MCP servers: none is left behind."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.console.serving import ROOT, Started, command, prepare, token_for
from tests.patience import at_most, until

SCRIPT = ROOT / "tests" / "agents" / "mcp_server.py"


def tools(home, *arguments):
    return command(home, "tools", *arguments)


def refused(home, *arguments):
    done = tools(home, *arguments)
    assert done.returncode != 0 and done.stdout == ""
    assert "Traceback" not in done.stderr and done.stderr.count("\n") == 1
    return done.stderr.strip()


@pytest.fixture
def home(tmp_path):
    prepare(tmp_path / "home")
    return tmp_path / "home"


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
