"""Guesses at a password are counted together by all processes of a home."""

import os
import subprocess
import sys

from tests.console.serving import ROOT

GUESSING = """
import django
django.setup()
from agents.errors import RateLimited
from console.throttling import count_signin
for _ in range(8):
    try:
        count_signin("alice", "10.0.0.7")
        print("looked at")
    except RateLimited:
        print("refused")
"""


def test_several_processes_count_together(tmp_path):
    settings = {"PLANSIDE_HOME": str(tmp_path), "DJANGO_SETTINGS_MODULE": "console.settings"}
    surroundings = {**os.environ, **settings}
    python = [sys.executable, "-c", GUESSING]
    migrate = [sys.executable, "manage.py", "migrate", "--verbosity=0"]
    subprocess.run(migrate, cwd=ROOT, env=surroundings, check=True)
    processes = [
        subprocess.Popen(python, cwd=ROOT, env=surroundings, stdout=subprocess.PIPE, text=True)
        for _ in range(3)
    ]
    told = "".join(process.communicate(timeout=60)[0] for process in processes).splitlines()
    assert (told.count("looked at"), told.count("refused")) == (10, 14)
