"""The lock files: versions and hashes, and nothing about where this was written."""

import re
from pathlib import Path

import pytest

FOLDER = Path(__file__).parents[1] / "requirements"
PINNED = re.compile(r"^[a-z0-9][a-z0-9._-]*==[^\s;]+( ; [^\\]+)? \\$")
HASH = re.compile(r"^    --hash=sha256:[0-9a-f]{64}( \\)?$")


@pytest.mark.parametrize("name", ["base", "services", "telemetry", "dev"])
def test_every_line_is_a_pinned_version_or_its_hash(name):
    lines = (FOLDER / f"{name}.txt").read_text().splitlines()
    assert lines
    for line in lines:
        assert PINNED.match(line) or HASH.match(line), line


@pytest.mark.parametrize("name", ["base", "services", "telemetry", "dev"])
def test_what_is_asked_for_is_locked(name):
    asked = re.findall(r"^[A-Za-z][\w.-]*", (FOLDER / f"{name}.in").read_text(), re.MULTILINE)
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
