"""A real server hides its memory, and hands no key on."""

import os
import subprocess
import sys

import httpx
import pytest

from tests.console.serving import ROOT, Script, Started

pytestmark = pytest.mark.django_db(transaction=True)


OPENAI = "canary-openai-4711-abcdef"


# A second server or worker of the home is refused, and tells what it had done until then.
REFUSED = """
import ctypes, sys, django
django.setup()
from django.core.management import call_command
from agents.errors import Conflict
try:
    call_command(sys.argv[1])
except Conflict:
    print(ctypes.CDLL(None).prctl(3, 0, 0, 0, 0))
"""


def dumpable_after(command, home):
    settings = {"PLANSIDE_HOME": str(home), "DJANGO_SETTINGS_MODULE": "console.settings"}
    python = [sys.executable, "-c", REFUSED, command]
    surroundings = {**os.environ, **settings}
    ended = subprocess.run(
        python, cwd=ROOT, env=surroundings, capture_output=True, text=True, check=False
    )
    return ended.stdout.strip() or ended.stderr


@pytest.mark.skipif(sys.platform != "linux", reason="there is no /proc elsewhere")
def test_the_server_hides_its_memory_and_hands_no_key_on(tmp_path):
    server = Started(tmp_path, OPENAI_API_KEY=OPENAI)
    try:
        for command in ("serve", "worker"):
            assert dumpable_after(command, tmp_path) == "0", command
        page = httpx.get(server.link, follow_redirects=True)
        assert OPENAI not in page.text
        listed = Script(tmp_path).get(server, "/providers")
        assert OPENAI not in str(listed)
        assert next(each for each in listed["items"] if each["name"] == "openai")["key_set"]
    finally:
        _, _, out, err = server.end()
    assert OPENAI not in out + err
