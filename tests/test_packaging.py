"""The lock files say what is installed and not where from; a wheel holds all that runs."""

import re
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
FOLDER = ROOT / "requirements"
PINNED = re.compile(r"^[a-z0-9][a-z0-9._-]*==[^\s;]+( ; [^\\]+)? \\$")
HASH = re.compile(r"^    --hash=sha256:[0-9a-f]{64}( \\)?$")
# The extras that each file locks beside the dependencies themselves.
EXTRAS = {
    "services": ["services"],
    "telemetry": ["services", "telemetry"],
    "dev": ["services", "telemetry", "dev"],
}


@pytest.mark.parametrize("name", EXTRAS)
def test_every_line_is_a_pinned_version_or_its_hash(name):
    lines = (FOLDER / f"{name}.txt").read_text().splitlines()
    assert lines
    for line in lines:
        assert PINNED.match(line) or HASH.match(line), line


@pytest.mark.parametrize("name", EXTRAS)
def test_what_is_asked_for_is_locked(name):
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    extras = [project["optional-dependencies"][extra] for extra in EXTRAS[name]]
    asked = [re.match(r"[\w.-]+", each)[0] for each in sum(extras, project["dependencies"])]
    locked = set(re.findall(r"^([\w.-]+)==", (FOLDER / f"{name}.txt").read_text(), re.MULTILINE))
    assert {package.lower() for package in asked} <= locked


def test_no_two_files_lock_different_versions():
    locked = [
        set(re.findall(r"^[\w.-]+==\S+", path.read_text(), re.M)) for path in FOLDER.glob("*.txt")
    ]
    for one in locked:
        for other in locked:
            names = {pin.partition("==")[0] for pin in one} & {
                pin.partition("==")[0] for pin in other
            }
            assert {pin for pin in one ^ other if pin.partition("==")[0] in names} == set()
