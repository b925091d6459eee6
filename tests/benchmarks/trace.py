"""`make trace`: what one "hello" passes through, in files, functions and SQL statements.

    python -m tests.benchmarks.trace [-v] [--json]

In a new conversation whose page is open, "hello" is posted by the page's own form, a worker runs
the turn with a scripted model, and the page's socket gets what has changed; tests.benchmarks.hello
tells how it is noted. Only our own files and functions count; comprehensions and lambdas belong to
the function around them. How many frames the socket sends, and so how often it reads, depends on
how busy the machine is. Statements that only begin, mark or end a transaction are counted apart.
`-v` lists the statements and the files. Nothing is asserted.

On SQLite, and on PostgreSQL where TEST_DATABASE_URL says or 127.0.0.1 answers; with the channel
layer in memory on both.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from collections import Counter
from contextlib import ExitStack
from typing import Any

from tests.benchmarks.console import database_of_its_own, engines
from tests.console.serving import ROOT

OF_TRANSACTIONS = ("BEGIN", "COMMIT", "ROLLBACK", "SAVEPOINT", "RELEASE")
AIM = "aim: together at most 45 files and 180 functions, 30 statements in the turn"

Noted = dict[str, Any]


def noted_on(environment: dict[str, str]) -> Noted:
    with ExitStack() as stack:
        database = database_of_its_own(stack, environment).get("DATABASE_URL", "")
        chosen = {"PLANSIDE_TEST_ON": "postgres", "TEST_DATABASE_URL": database} if database else {}
        hello = [sys.executable, "-m", "tests.benchmarks.hello"]
        done = subprocess.run(
            hello,
            cwd=ROOT,
            env=os.environ | chosen,
            stdout=subprocess.PIPE,
            check=True,
            timeout=120,
        )
        return json.loads(done.stdout)


def counted(noted: Noted) -> dict[str, dict[str, int]]:
    together = {
        "functions": sorted({name for each in noted.values() for name in each["functions"]}),
        "statements": [sql for each in noted.values() for sql in each["statements"]],
    }
    found = {name: figures(each) for name, each in {**noted, "together": together}.items()}
    found["redraw"]["frames"] = noted["redraw"]["frames"]
    return found


def figures(part: Noted) -> dict[str, int]:
    statements = [sql for sql in part["statements"] if not sql.startswith(OF_TRANSACTIONS)]
    return {
        "files": len(files(part)),
        "functions": len(part["functions"]),
        "statements": len(statements),
        "of transactions": len(part["statements"]) - len(statements),
    }


def files(part: Noted) -> Counter[str]:
    """Each with how many of its functions are passed."""
    return Counter(name.partition(":")[0] for name in part["functions"])


def table(title: str, found: dict[str, dict[str, int]]) -> str:
    lines = [f"{title:<20}" + "".join(f"{name:>17}" for name in found["redraw"])]
    lines += [
        f"{name:<20}" + "".join(f"{figure:>17}" for figure in row.values())
        for name, row in found.items()
    ]
    return "\n".join(lines)


def details(noted: Noted) -> str:
    lines = []
    for name, part in noted.items():
        lines += ["", f"{name}: statements", *(f"  {sql[:150]}" for sql in part["statements"])]
        lines += ["", f"{name}: functions by file"]
        lines += [f"  {count:>4}  {file}" for file, count in files(part).most_common()]
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("-v", "--verbose", action="store_true")
    parser.add_argument("--json", action="store_true")
    chosen = parser.parse_args()
    noted = {title.partition("+")[0]: noted_on(environment) for title, environment in engines()}
    found = {title: counted(each) for title, each in noted.items()}
    if chosen.json:
        sys.stdout.write(json.dumps(found, indent=2) + "\n")
        return
    for title, each in noted.items():
        sys.stdout.write(table(title, found[title]) + "\n")
        sys.stdout.write(details(each) + "\n\n" if chosen.verbose else "\n")
    sys.stdout.write(AIM + "\n")


if __name__ == "__main__":
    main()
