"""Software of others, fetched when it is used: `make real` runs these, and nothing else does.

At the end a table says which servers were there and what was shown with each: a test names its
server by the mark `server`, and what it shows by `shows`, if not by its own name.
"""

import os
from collections import defaultdict

IS_REAL = bool(os.environ.get("PLANSIDE_REAL"))
collect_ignore_glob = [] if IS_REAL else ["test_*.py"]


def pytest_collection_modifyitems(items):
    for item in items:
        mark = item.get_closest_marker("server")
        if not mark:
            continue
        shows = item.get_closest_marker("shows")
        words = item.originalname.removeprefix("test_").replace("_", " ")
        item.user_properties.append(("server", mark.args[0]))
        item.user_properties.append(("shows", shows.args[0] if shows else words))


def pytest_terminal_summary(terminalreporter):
    """Server by server: how much was shown, what, and why not the rest."""
    if not IS_REAL:
        return
    shown, failed, skipped = defaultdict(list), defaultdict(list), defaultdict(list)
    for kind, where in (
        ("passed", shown),
        ("failed", failed),
        ("error", failed),
        ("skipped", skipped),
    ):
        for report in terminalreporter.stats.get(kind, []):
            facts = dict(report.user_properties)
            if "server" in facts and (report.when == "call" or kind != "passed"):
                where[facts["server"]].append((facts["shows"], reason_of(report)))
    terminalreporter.section("real servers")
    for server in sorted({*shown, *failed, *skipped}):
        number = len(shown[server])
        tried = number + len(failed[server]) + len(skipped[server])
        what = " · ".join(dict.fromkeys(words for words, _ in shown[server])) or "nothing"
        terminalreporter.write_line(f"{server:<32} {number:>3} of {tried:<3} {what}")
        for words, _ in failed[server]:
            terminalreporter.write_line(f"{'':<43} failed: {words}")
        for why in dict.fromkeys(why for _, why in skipped[server]):
            terminalreporter.write_line(f"{'':<43} left out: {why}")


def reason_of(report):
    """Why it was skipped."""
    found = report.longrepr
    return str(found[2]).removeprefix("Skipped: ") if isinstance(found, tuple) else ""
