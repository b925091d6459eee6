# ruff: noqa
"""Writes a line for each phase of each test: seconds, CPU seconds of the worker, of its children."""

import json
import os

import pytest


def cpu():
    t = os.times()
    return t.user + t.system, t.children_user + t.children_system


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_protocol(item, nextitem):
    item._cpu = cpu()
    return (yield)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item, call):
    report = yield
    before, now = item._cpu, cpu()
    item._cpu = now
    report.user_properties = [p for p in report.user_properties if p[0] != "cpu"] + [
        ("cpu", (round(now[0] - before[0], 3), round(now[1] - before[1], 3)))
    ]
    return report


def pytest_runtest_logreport(report):
    if os.environ.get("PYTEST_XDIST_WORKER"):
        return
    own, children = dict(report.user_properties).get("cpu", (0, 0))
    with open(os.environ["RECORD_TO"], "a") as f:
        f.write(
            json.dumps(
                [
                    report.nodeid,
                    report.when,
                    report.outcome,
                    round(report.duration, 3),
                    own,
                    children,
                ]
            )
            + "\n"
        )
