"""The image and the units start what they name."""

import re
import secrets
import shlex
import shutil
import socket
import subprocess
import sys

import httpx
import pytest
import yaml

from tests.console.serving import DEADLINE, READY, surroundings
from tests.test_deploy import COMPOSE, DEPLOY, DOCKERFILE, ROOT, UNITS, copied, directives


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


def check_as_compose_does(port):
    """The health check's own command, at the port of the moment; it fails where nobody is."""
    kind, _, *arguments = COMPOSE["services"]["web"]["healthcheck"]["test"]
    assert kind == "CMD"
    here = [sys.executable, *(each.replace(":8000", f":{port}") for each in arguments)]
    assert subprocess.run(here, capture_output=True).returncode == 0
    nobody = [sys.executable, *(each.replace(":8000", ":1") for each in arguments)]
    assert subprocess.run(nobody, capture_output=True).returncode != 0


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
