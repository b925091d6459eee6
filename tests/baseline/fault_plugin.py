# ruff: noqa
"""pytest -p fault_plugin: the order of files as given (FAULT_ORDER), and what failed as JSON lines."""

import json
import os

import pytest

ORDER = os.environ.get("FAULT_ORDER", "").split()
OUT = os.environ.get("FAULT_OUT", "")


@pytest.hookimpl(tryfirst=True, hookwrapper=True)
def pytest_collection_modifyitems(items):
    yield
    place = {path: at for at, path in enumerate(ORDER)}
    items.sort(key=lambda item: place.get(item.nodeid.split("::")[0], 999))


def pytest_runtest_logreport(report):
    if not OUT or "PYTEST_XDIST_WORKER" in os.environ:
        return
    if report.outcome != "failed" and not (report.when == "call" or report.outcome == "skipped"):
        return
    crash = getattr(report.longrepr, "reprcrash", None)
    where = f"{crash.path.rsplit('/', 2)[-1]}:{crash.lineno}" if crash else ""
    own = ""
    trace = getattr(report.longrepr, "reprtraceback", None)
    for entry in getattr(trace, "reprentries", []):
        at = getattr(entry, "reprfileloc", None)
        if at and "test_" in at.path:
            own = f"{at.path.rsplit('/', 1)[-1]}:{at.lineno}"
    with open(OUT, "a") as file:
        file.write(
            json.dumps(
                {
                    "id": report.nodeid,
                    "when": report.when,
                    "outcome": report.outcome,
                    "seconds": round(report.duration, 2),
                    "at": own,
                    "crash": where,
                    "message": (crash.message if crash else str(report.longrepr))[:300]
                    if report.outcome == "failed"
                    else "",
                }
            )
            + "\n"
        )
