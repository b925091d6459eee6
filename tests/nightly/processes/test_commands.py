"""What a command imports, seen in a process of its own."""

import subprocess
import sys

from tests.console.serving import ROOT, surroundings

IMPORTING = """
import os, sys
from io import StringIO
os.environ["DJANGO_SETTINGS_MODULE"] = "console.settings"
from django.core.management import load_command_class, get_commands
import django
django.setup()
for name in sys.argv[1:]:
    command = load_command_class("console", name)
    if name not in ("worker", "doctor"):
        command.stdout = StringIO()
        command.run_from_argv(["manage.py", name, *([] if name == "signin-link" else ["list"])])
print(*sorted({module for module in sys.modules}))
"""
OF_THE_SERVER = ("daphne", "twisted.internet", "autobahn", "ninja", "console.urls", "console.views")


def names():
    files = (ROOT / "console" / "management" / "commands").glob("[!_]*.py")
    return sorted(path.stem for path in files if path.stem != "serve")


def test_no_command_but_serve_loads_the_server(tmp_path):
    told = subprocess.run(
        [sys.executable, "-c", IMPORTING, *names()],
        cwd=ROOT, env=surroundings(tmp_path), capture_output=True, text=True, check=True,
    )  # fmt: skip
    loaded = told.stdout.split("\n")[-2].split()
    assert "plans.models" in loaded
    assert [each for each in loaded if each.startswith(OF_THE_SERVER)] == []
