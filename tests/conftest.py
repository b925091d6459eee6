import asyncio
import gc
import os
import random
import shutil
import signal
from pathlib import Path

import httpx
import hypothesis
import pytest
from django.conf import settings
from django.test import TransactionTestCase
from whitenoise.middleware import WhiteNoiseMiddleware

from agents import http
from tests import guards, quarantine
from tests.cli import run_command
from tests.database import empty_tables, migrated
from tests.fake_model import ScriptedTransport
from tests.one_thread import one_thread
from tests.patience import be_patient
from tests.sampled import left_for_the_night
from tests.waiting import Skipping

AGENTS = Path(settings.PLANSIDE_HOME) / "workspaces"  # where a test has no home of its own


# The same examples each time, so that a failure is a fault of the change; others at night.
hypothesis.settings.register_profile("same", derandomize=True, database=None, deadline=None)
hypothesis.settings.register_profile("others", max_examples=500, database=None, deadline=None)
hypothesis.settings.load_profile("same")


def pytest_configure(config):
    config.pluginmanager.register(guards)
    be_patient()
    hear_ctrl_c()


def hear_ctrl_c():
    """Also where a shell runs the tests in the background: it lets them ignore Ctrl-C, and so would
    every command that they start."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config, items):
    """CASES=all leaves out none of a table; ORDER=<number> is one of chance: `make random`."""
    if os.environ.get("CASES") != "all":
        left_out = left_for_the_night(items)
        config.hook.pytest_deselected(items=left_out)
        items[:] = [item for item in items if item not in left_out]
    try:
        waived = {line.test: line.cause for line in quarantine.lines(quarantine.LIST.read_text())}
    except ValueError as error:
        raise pytest.UsageError(f"{quarantine.LIST.name}: {error}") from None
    for item in items:
        if cause := waived.get(item.nodeid.partition("[")[0]):
            item.add_marker(pytest.mark.xfail(reason=f"in quarantine: {cause}", strict=False))
    if order := os.environ.get("ORDER"):
        random.Random(order).shuffle(items)


def pytest_collection_finish():
    """What is loaded by now stays: garbage is not looked for in it again and again."""
    gc.collect()
    gc.freeze()


def pytest_unconfigure():
    """The home of this run goes with it (tests/settings.py)."""
    shutil.rmtree(settings.PLANSIDE_HOME, ignore_errors=True)


@pytest.fixture(scope="session")
def django_db_keepdb(django_db_modify_db_settings):
    """On SQLite it is a copy of one that is migrated."""
    database = settings.DATABASES["default"]
    if not database["ENGINE"].endswith("sqlite3"):
        return False
    shutil.copyfile(migrated(), database["TEST"]["NAME"])
    return True


@pytest.fixture(scope="session")
def django_db_setup(django_db_setup):
    """Between two tests the tables are emptied, and the connection stays."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(TransactionTestCase, "_fixture_teardown", lambda case: empty_tables())
        patch.setattr(TransactionTestCase, "_should_reload_connections", lambda case: False)
        yield


@pytest.fixture(scope="session", autouse=True)
def _static_files_are_looked_for_once():
    """Not by every client that a test makes: each has middleware of its own."""
    known = {}

    def add_known(middleware):
        if middleware.files:  # those that a test has collected
            look_for(middleware)
            return
        if not known:
            look_for(middleware)
            known.update(middleware.files)
        middleware.files.update(known)

    look_for = WhiteNoiseMiddleware.add_files_from_finders
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(WhiteNoiseMiddleware, "add_files_from_finders", add_known)
        yield


@pytest.fixture(scope="session", autouse=True)
def _no_disk_is_waited_for():
    """No test here cuts the power."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "fsync", lambda handle: None)
        yield


@pytest.fixture(scope="session", autouse=True)
def _one_thread():
    with one_thread():
        yield


@pytest.fixture(autouse=True)
def _nothing_on_the_wire_outlives_a_test():
    with http.use(None):
        yield


@pytest.fixture
def nobody_answers():
    """No server of this machine is asked, such as one of models that somebody has running."""
    with http.use(httpx.MockTransport(refuse_connection)):
        yield


def refuse_connection(request):
    raise httpx.ConnectError("All connection attempts failed")


@pytest.fixture(autouse=True)
def _no_agents_of_other_tests():
    """A page that lists agents, or reads all their files, would do so for those of a thousand tests."""
    yield
    shutil.rmtree(AGENTS, ignore_errors=True)


@pytest.fixture
def own_home(tmp_path, settings):
    """A home folder that no other test shares."""
    settings.PLANSIDE_HOME = tmp_path
    return tmp_path


@pytest.fixture
def home(tmp_path, settings):
    """A home that nobody has started yet, beside what else the test makes."""
    settings.PLANSIDE_HOME = tmp_path / "home"
    settings.PLANSIDE_HOME.mkdir(mode=0o700)
    return settings.PLANSIDE_HOME


@pytest.fixture
def cli(home, transactional_db):
    """Runs a command on this home: `cli("plan", "run")` gives its exit code, stdout and stderr."""
    return run_command


@pytest.fixture
def model(settings):
    """Lets every new agent ask a scripted model: `model(say("Hello."))` or `model(rules=[…])`."""

    def play(*replies, rules=()):
        transport = ScriptedTransport({"replies": list(replies), "rules": list(rules)})
        http.use(transport)
        return transport

    settings.PLANSIDE_MODEL, settings.PLANSIDE_MODEL_IS_SET = "openai/scripted", True
    return play


@pytest.fixture
def programs(tmp_path, monkeypatch):
    """MCP servers as programs in this loop: what commands start instead of processes."""
    from tests.agents.programs import Programs

    programs = Programs(tmp_path / "programs")
    monkeypatch.setattr(asyncio, "create_subprocess_exec", programs.start)
    yield programs
    programs.end()


@pytest.fixture
def web(monkeypatch):
    """MCP servers over HTTP in this loop, by their ports."""
    import httpx2

    from tests.agents.web import Web

    web = Web()
    monkeypatch.setattr(
        httpx2.AsyncHTTPTransport,
        "handle_async_request",
        lambda _, request: web.answer(request),
    )
    return web


@pytest.fixture
async def no_waiting():
    """In this test no timer of the loop is waited for: the clock goes on to the next one."""
    return Skipping(asyncio.get_running_loop())
