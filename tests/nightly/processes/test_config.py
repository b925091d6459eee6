"""Processes that write and read one agent.json, and make one home."""

import os
import subprocess
import sys

import pytest

from tests.agents import test_config as one_process
from tests.inner import change_agent, list_agents, read_agent

home, bob = one_process.home, one_process.bob
pytestmark = pytest.mark.django_db  # whose file it is decides what may stand in it


def test_two_first_starts_at_once_make_one_home(home):
    code = "import django; django.setup()\nfrom agents.config.workspaces import prepare_home\nprepare_home()"
    environment = os.environ | {
        "PLANSIDE_HOME": str(home),
        "DJANGO_SETTINGS_MODULE": "console.settings",
    }
    starts = [subprocess.Popen([sys.executable, "-c", code], env=environment) for _ in range(2)]
    assert [start.wait() for start in starts] == [0, 0]
    assert [record.id for record in list_agents()] == ["docs-writer"]
    assert not list(home.glob(".workspaces*"))


def test_two_processes_writing_at_once_lose_nothing(bob, home):
    with writer("a", home) as one, writer("b", home) as two:
        assert [process.stdout.readline() for process in (one, two)] == ["ready\n"] * 2
        for process in (one, two):
            process.stdin.write("go\n")
            process.stdin.flush()
        seen = set()
        while one.poll() is None or two.poll() is None:
            seen.add(read_agent("bob").problem)
    assert (one.returncode, two.returncode, seen) == (0, 0, {None})
    assert len(read_agent("bob").file.tools) == 82


def test_a_freshly_started_process_reads_the_same_while_the_file_is_broken(bob, home):
    read_agent("bob")
    change_agent("bob", {"model": "newer"})
    bob.write_text("{")
    here = read_agent("bob")
    code = (
        "import django; django.setup()\n"
        "from agents.config.store import read_agent\n"
        "r = read_agent('bob'); print(r.file.model, '|', r.problem)"
    )
    environment = os.environ | {
        "PLANSIDE_HOME": str(home),
        "DJANGO_SETTINGS_MODULE": "console.settings",
    }
    there = subprocess.run(
        [sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True
    )
    assert there.stdout.strip() == f"newer | {here.problem}"


def writer(name, home):
    """A process of its own that adds 40 tools, one by one, as soon as it is told to."""
    code = (
        "import sys, django; django.setup()\n"
        "from agents.config.store import change_agent\n"
        "print('ready', flush=True); input()\n"
        f"for n in range(40): change_agent('bob', {{'tools': {{'{name}' + str(n): 'ask'}}}})"
    )
    environment = os.environ | {
        "PLANSIDE_HOME": str(home),
        "DJANGO_SETTINGS_MODULE": "console.settings",
    }
    return subprocess.Popen(
        [sys.executable, "-c", code],
        env=environment,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
