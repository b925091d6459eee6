"""What is in deploy/ and compose.yaml starts Planside, and says only what Planside understands."""

import re
import secrets
import shlex
import shutil
import socket
import subprocess
import sys
from pathlib import Path

import httpx
import pytest
import yaml

from tests.console.serving import DEADLINE, READY, surroundings
from tests.inner import KNOWN_PROVIDERS

ROOT = Path(__file__).parents[1]
DEPLOY = ROOT / "deploy"
UNITS = ("planside-web.service", "planside-worker@.service")
COMPOSE = yaml.safe_load((ROOT / "compose.yaml").read_text())
DOCKERFILE = (DEPLOY / "Dockerfile").read_text().replace("\\\n", " ")
# Names of the containers and of systemd's units, which Planside itself does not read.
NOT_OURS = {"POSTGRES_PASSWORD"}


def known_names():
    """Every environment variable that the code reads."""
    read = (ROOT / "console").rglob("*.py")
    text = "".join(path.read_text() for path in read)
    named = {name for known in KNOWN_PROVIDERS for name in (*known.keys, known.address_variable)}
    return named | set(re.findall(r'"((?:PLANSIDE|OTEL|DATABASE|REDIS)_[A-Z_]+)"', text))


def test_every_variable_of_a_provider_is_in_the_manual():
    manual = (ROOT / "docs" / "operations.md").read_text()
    for known in KNOWN_PROVIDERS:
        for name in filter(None, (*known.keys, known.address_variable)):
            assert f"`{name}`" in manual


def copied():
    """What the image is made of: [source, target], …"""
    lines = [shlex.split(line) for line in DOCKERFILE.splitlines() if line.startswith("COPY")]
    return [(source, target) for _, source, target in lines]


def directives(unit):
    """{directive: [values]} of a unit's file."""
    found = {}
    for line in (DEPLOY / unit).read_text().splitlines():
        if "=" in line and not line.startswith("#"):
            name, _, value = line.partition("=")
            found.setdefault(name, []).append(value)
    return found


def environment_of(unit):
    return dict(
        pair.partition("=")[::2]
        for values in directives(unit)["Environment"]
        for pair in values.split()
    )


def asked_names(text):
    return {
        line.lstrip("#").partition("=")[0]
        for line in text.splitlines()
        if re.match(r"^#?[A-Z_]+=", line)
    }


def test_every_variable_is_one_that_the_code_reads():
    known = known_names() | NOT_OURS
    for service in ("web", "worker"):
        assert set(COMPOSE["services"][service]["environment"]) <= known
    for unit in UNITS:
        assert set(environment_of(unit)) <= known
    assert asked_names((DEPLOY / "planside.env").read_text()) <= known


def test_what_compose_asks_of_the_person_is_in_the_example():
    asked = set(re.findall(r"\$\{([A-Z_]+)", (ROOT / "compose.yaml").read_text()))
    assert asked <= asked_names((DEPLOY / "planside.env").read_text())


def test_each_service_waits_for_what_it_needs_and_says_when_it_is_ready():
    services = COMPOSE["services"]
    for name, service in services.items():
        for needed, how in service.get("depends_on", {}).items():
            assert how == {"condition": "service_healthy"}, name
            assert "healthcheck" in services[needed], needed
    for service in services.values():
        named = {volume.partition(":")[0] for volume in service.get("volumes", [])}
        assert {name for name in named if not name.startswith(".")} <= set(COMPOSE["volumes"])
    assert services["web"]["environment"]["PLANSIDE_WORKERS"] == "external"
    assert services["web"]["volumes"] == services["worker"]["volumes"], "one folder for all"
    assert "ports" not in services["web"], "the proxy alone is seen from outside"


def test_the_image_has_all_that_the_server_needs_and_the_units_command_starts_it(tmp_path):
    """From a folder that holds only what is copied into the image."""
    for source, target in copied():
        there = tmp_path / "image" / target
        copy = shutil.copytree if (ROOT / source).is_dir() else shutil.copy
        there.parent.mkdir(parents=True, exist_ok=True)
        copy(ROOT / source, there)
    command = shlex.split(directives("planside-web.service")["ExecStart"][0])[1:]
    assert command == yaml.safe_load(DOCKERFILE.rpartition("CMD ")[2])[1:]
    assert command == COMPOSE["services"]["web"]["command"][1:]
    process = subprocess.Popen(
        [sys.executable, *command],
        cwd=tmp_path / "image",
        env=surroundings(tmp_path / "home") | {"PLANSIDE_WORKERS": "external"},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        found = READY.match(process.stdout.readline())
        assert found, process.stderr.read()
        check_as_compose_does(port=found[2])
        page = httpx.get(found[1] + found[3], follow_redirects=False)
        assert page.status_code == 302
        style = re.search(r'href="(/static/[^"]+\.css)"', httpx.get(found[1] + "/signin/").text)[1]
        assert httpx.get(found[1] + style).status_code == 200
    finally:
        process.terminate()
        process.communicate(timeout=DEADLINE)


def check_as_compose_does(port):
    """The health check's own command, at the port of the moment; it fails where nobody is."""
    kind, _, *arguments = COMPOSE["services"]["web"]["healthcheck"]["test"]
    assert kind == "CMD"
    here = [sys.executable, *(each.replace(":8000", f":{port}") for each in arguments)]
    assert subprocess.run(here, capture_output=True).returncode == 0
    nobody = [sys.executable, *(each.replace(":8000", ":1") for each in arguments)]
    assert subprocess.run(nobody, capture_output=True).returncode != 0


def test_the_image_is_built_from_the_lock_files_and_runs_as_nobody_special():
    installed = re.search(r"RUN pip install (.*)", DOCKERFILE)[1]
    assert "--require-hashes" in installed
    for name in re.findall(r"-r (\S+)", installed):
        assert (ROOT / name).exists(), name
    user = DOCKERFILE.index("\nUSER planside")
    assert DOCKERFILE.rindex("\nRUN") < user < DOCKERFILE.index("\nCMD")
    ignored = (DEPLOY / "Dockerfile.dockerignore").read_text().splitlines()
    assert {f"!{source}" for source, _ in copied()} <= set(ignored)


@pytest.mark.parametrize("unit", UNITS)
def test_systemd_understands_the_units(unit, tmp_path):
    verify = shutil.which("systemd-analyze")
    if verify is None:
        pytest.skip("systemd-analyze is not installed")
    here = tmp_path / unit
    text = (DEPLOY / unit).read_text()
    here.write_text(text.replace("/opt/planside/.venv/bin/python", sys.executable))
    for other in UNITS:
        if other != unit:
            other_text = (DEPLOY / other).read_text()
            (tmp_path / other).write_text(
                other_text.replace("/opt/planside/.venv/bin/python", sys.executable)
            )
    named = str(here).replace("@.", "@1.")
    done = subprocess.run(
        [verify, "verify", "--man=no", named], capture_output=True, text=True, timeout=DEADLINE
    )
    ours = [line for line in done.stderr.splitlines() if "planside" in line]
    assert (done.returncode, ours) == (0, []), done.stderr


def test_the_workers_unit_starts_a_worker_that_tells_its_numbers(tmp_path):
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    command = shlex.split(directives("planside-worker@.service")["ExecStart"][0])[1:]
    assert command == COMPOSE["services"]["worker"]["command"][1:]
    key = secrets.token_hex(8)
    on_a_server = {
        "PLANSIDE_METRICS_PORT": str(port),
        "PLANSIDE_METRICS_TOKEN": key,
        "PLANSIDE_ALLOWED_HOSTS": "planside.example",
    }
    worker = subprocess.Popen(
        [sys.executable, *command],
        cwd=ROOT,
        env=surroundings(tmp_path / "home") | on_a_server,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        address = f"http://127.0.0.1:{port}"
        transport = httpx.HTTPTransport(retries=8)
        with httpx.Client(transport=transport, base_url=address, timeout=DEADLINE) as prometheus:
            told = prometheus.get("/metrics", headers={"Authorization": f"Bearer {key}"}).text
            assert "planside_due_turns 0.0" in told
            assert "planside_loop_lag_seconds" in told
            assert prometheus.get("/metrics").status_code == 401
            assert prometheus.get("/").status_code == 404
    finally:
        worker.terminate()
        _, err = worker.communicate(timeout=DEADLINE)
    assert (worker.returncode, err) == (0, "")
