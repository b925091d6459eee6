"""What is in deploy/ and compose.yaml starts Planside, and says only what Planside understands."""

import re
import shlex
from pathlib import Path

import yaml

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


def test_the_image_is_built_from_the_lock_files_and_runs_as_nobody_special():
    installed = re.search(r"RUN pip install (.*)", DOCKERFILE)[1]
    assert "--require-hashes" in installed
    for name in re.findall(r"-r (\S+)", installed):
        assert (ROOT / name).exists(), name
    user = DOCKERFILE.index("\nUSER planside")
    assert DOCKERFILE.rindex("\nRUN") < user < DOCKERFILE.index("\nCMD")
    ignored = (DEPLOY / "Dockerfile.dockerignore").read_text().splitlines()
    assert {f"!{source}" for source, _ in copied()} <= set(ignored)


def test_a_command_gains_no_rights_and_changes_no_code():
    for unit in UNITS:
        assert directives(unit)["NoNewPrivileges"] == ["yes"]
    for name in ("web", "worker"):
        service = COMPOSE["services"][name]
        assert service["security_opt"] == ["no-new-privileges:true"]
        assert service["read_only"] and service["cap_drop"] == ["ALL"]
