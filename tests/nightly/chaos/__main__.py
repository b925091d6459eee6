"""`make chaos`: 100 kills at random moments on SQLite, then as many on PostgreSQL."""

from __future__ import annotations

import argparse
import random
import signal
import sys
import tempfile
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path

from tests.nightly.chaos.homes import Place, postgres_url
from tests.nightly.chaos.run import chaos, on_postgres, on_sqlite


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kills", type=int, default=100)
    parser.add_argument("--seed", type=int, default=random.randrange(1_000_000))
    parser.add_argument("--only", choices=["sqlite", "postgres"])
    parser.add_argument("--folder", type=Path, help="keep the homes and logs there")
    chosen = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("told to end"))  # nothing is left running
    say(f"{chosen.kills} kills, --seed {chosen.seed}")
    with tempfile.TemporaryDirectory(prefix="planside-chaos-") as scratch:
        folder = chosen.folder or Path(scratch)
        faults = sum(run(each, folder, chosen) for each in places(chosen.only))
    sys.exit(1 if faults else 0)


def places(only: str | None) -> list[Callable[[Path], AbstractContextManager[Place]]]:
    if only != "sqlite" and not postgres_url():
        say("No PostgreSQL answers: on SQLite only.")
        only = "sqlite"
    return [each for name, each in CHOICES.items() if only in (None, name)]


CHOICES = {"sqlite": on_sqlite, "postgres": on_postgres}


def run(
    on: Callable[[Path], AbstractContextManager[Place]], folder: Path, chosen: argparse.Namespace
) -> int:
    with on(folder) as place:
        account = chaos(place, chosen.kills, chosen.seed)
    say(account.table)
    for fault in account.found.all:
        say(f"  FAULT {fault}")
    return len(account.found.all)


def say(text: str) -> None:
    sys.stdout.write(text + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main()
