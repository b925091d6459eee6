import asyncio
import signal
from collections import Counter

import pytest
from django.contrib.auth.management import create_permissions
from django.contrib.contenttypes.management import create_contenttypes
from django.db.models.signals import post_migrate

from agents import http
from console.static_files import StaticFiles
from tests.cli import run_command
from tests.fake_model import ScriptedTransport
from tests.patience import be_patient
from tests.waiting import Skipping

CREATE_PERMISSIONS = "django.contrib.auth.management.create_permissions"  # as Django connects it
STARTING = {"Started", "launch", "manage", "start", "team", "small_team"}


def pytest_configure():
    be_patient()
    hear_ctrl_c()


def hear_ctrl_c():
    """Also where a shell runs the tests in the background: it lets them ignore Ctrl-C, and so would
    every command that they start."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items):
    """Files whose tests start servers and commands come first, then the larger ones.

    They take the longest, and what is long and begun last is waited for by one processor alone.
    """
    sizes = Counter(item.path for item in items)
    long = {item.path for item in items if starts_processes(item)}
    items.sort(key=lambda item: (item.path not in long, -sizes[item.path], item.path))


def starts_processes(item):
    """As far as can be seen from what its module imports and which fixtures it has."""
    return not STARTING.isdisjoint([*vars(item.module), *item.fixturenames])


@pytest.fixture(scope="session")
def django_db_setup(django_db_setup):
    """Nothing is written into tables that were just emptied.

    After each test with real transactions Django would fill in the permissions and content types
    of every model again: twenty times the work of emptying the tables, for rows nobody reads.
    """
    post_migrate.disconnect(create_permissions, dispatch_uid=CREATE_PERMISSIONS)
    post_migrate.disconnect(create_contenttypes)


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

    look_for = StaticFiles.add_files_from_finders
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(StaticFiles, "add_files_from_finders", add_known)
        yield


@pytest.fixture(autouse=True)
def _nothing_on_the_wire_outlives_a_test():
    with http.use(None):
        yield


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
