"""The frame for tests of commands: tests/cli.py."""

import os
from pathlib import Path

from tests.fake_model import fails


async def test_a_command_runs_where_a_loop_runs_already(cli):
    """As after a browser test, whose loop stays in the main thread."""
    assert cli("plan", "list") == (0, "", "")


def test_what_is_no_command_is_told_as_a_shell_sees_it(cli):
    code, out, err = cli("plans")
    assert (code, out) == (1, "") and "Unknown command: 'plans'" in err
    code, out, err = cli("plan", "show", "--no-such")
    assert (code, out) == (2, "") and "usage: manage.py plan" in err


def test_its_log_stands_on_its_stderr_and_pytest_sees_it_too(cli, model, caplog):
    model(*[fails(401)] * 3)
    code, _, err = cli("plan", "new", "one thing")
    assert code == 1
    assert "turn failed" in err and "turn failed" in caplog.text


def test_nothing_of_it_stays(cli):
    before = os.umask(0o022)
    os.umask(before)
    folder = Path.cwd()
    cli("plan", "list")
    after = os.umask(before)
    assert (after, Path.cwd()) == (before, folder)
