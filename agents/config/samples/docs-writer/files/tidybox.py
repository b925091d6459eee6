"""Tidybox: move the files of a folder to where they belong, by rules.

Exit codes: 0 all went well, 1 at least one file had to stay because of a clash of names,
2 the command or the rules file was wrong.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from pathlib import Path

from rules import Rule, RulesError, load_rules

VERSION = "0.3.0"
JOURNAL = ".tidybox-journal.json"
DAY = 24 * 60 * 60

Move = tuple[str, str]


def plan_moves(folder: Path, rules: list[Rule], now: float) -> tuple[list[Move], list[Move]]:
    """Decide about each file directly in the folder, in the order of their names.

    Returns two lists of pairs: (name, where it goes) for what will move, and (name, reason) for
    what stays. `now` is in seconds, as time.time() gives it. Nothing is moved.
    """
    moves: list[Move] = []
    stays: list[Move] = []
    for file in sorted(path for path in folder.iterdir() if path.is_file()):
        if file.name.startswith("."):
            continue
        rule = next((rule for rule in rules if rule.fits(file.name)), None)
        if rule is None:
            stays.append((file.name, "no rule fits"))
        elif now - file.stat().st_mtime < rule.older_than_days * DAY:
            stays.append((file.name, "too young"))
        elif (folder / rule.to / file.name).exists():
            stays.append((file.name, "name clash"))
        else:
            moves.append((file.name, f"{rule.to}/{file.name}"))
    return moves, stays


def carry_out(folder: Path, moves: list[Move]) -> int:
    """Move the files and write the journal; returns how many were moved."""
    for old, new in moves:
        (folder / new).parent.mkdir(parents=True, exist_ok=True)
        (folder / old).rename(folder / new)
    (folder / JOURNAL).write_text(json.dumps(moves))
    return len(moves)


def undo(folder: Path) -> int:
    """Move the files of the last run back and delete the journal; returns how many moved."""
    journal = folder / JOURNAL
    if not journal.exists():
        return 0
    moves: list[Move] = json.loads(journal.read_text())
    for old, new in reversed(moves):
        (folder / new).rename(folder / old)
    journal.unlink()
    return len(moves)


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="tidybox", description=(__doc__ or "").split("\n")[0])
    parser.add_argument("folder", type=Path, help="the folder to tidy")
    parser.add_argument("--rules", type=Path, default=Path("rules.json"), help="the rules file")
    parser.add_argument("--dry-run", action="store_true", help="print, but move nothing")
    parser.add_argument("--undo", action="store_true", help="take the last run back")
    parser.add_argument("--version", action="version", version=VERSION)
    options = parser.parse_args(arguments)
    if options.undo:
        say(f"{undo(options.folder)} files moved back")
        return 0
    try:
        moves, stays = plan_moves(options.folder, load_rules(options.rules), time.time())
    except (OSError, RulesError) as error:
        parser.error(str(error))
    for name, outcome in moves + stays:
        say(f"{name}: {outcome}")
    if not options.dry_run:
        carry_out(options.folder, moves)
    return 1 if any(reason == "name clash" for _, reason in stays) else 0


def say(line: str) -> None:
    sys.stdout.write(line + "\n")


if __name__ == "__main__":
    sys.exit(main())
