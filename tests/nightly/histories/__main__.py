"""Random histories of what is changed and undone, by seed.

    python -m tests.nightly.histories [--seeds 300] [--first 0] [--root ../another] [--postgres]

Nine of ten run side by side over one server; the others kill it, one after the other, on a second
one. Prints what broke, by kind, and the seeds; `--show` prints each broken history whole.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path

from tests.nightly.chaos.homes import new_database, postgres_url
from tests.nightly.histories.history import History
from tests.nightly.histories.world import World, running

SIDE_BY_SIDE = 4


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=300)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--root", type=Path, default=Path.cwd())
    parser.add_argument("--postgres", action="store_true")
    parser.add_argument("--show", action="store_true")
    parser.add_argument("--unsure", action="store_true", help="show those with an unsure change")
    chosen = parser.parse_args()
    seeds = range(chosen.first, chosen.first + chosen.seeds)
    with ExitStack() as stack:
        homes = Path(stack.enter_context(tempfile.TemporaryDirectory(ignore_cleanup_errors=True)))

        def world(name: str) -> World:
            url = stack.enter_context(new_database(postgres_url())) if chosen.postgres else ""
            return stack.enter_context(running(chosen.root.resolve(), homes / name, url))

        quiet, killed = world("quiet"), world("killed")
        with ThreadPoolExecutor(SIDE_BY_SIDE) as pool:
            told = list(pool.map(lambda seed: told_of(quiet, seed), filter(is_quiet, seeds)))
        told += [told_of(killed, seed, has_kills=True) for seed in seeds if not is_quiet(seed)]
    if chosen.unsure:
        told_whole([each for each in told if any(line.startswith("unsure") for line in each.log)])
    return report(told, show=chosen.show)


def told_whole(histories: list[History]) -> None:
    for each in histories:
        lines = [f"{each.seed}{' alone' if each.is_alone else ''}", *each.log, *each.faults]
        sys.stdout.write("\n  ".join(lines) + "\n\n")


def is_quiet(seed: int) -> bool:
    return bool(seed % 10)


def told_of(world: World, seed: int, *, has_kills: bool = False) -> History:
    history = History(world, seed, has_kills)
    try:
        history.run()
    except Exception as fault:
        history.say("the run", repr(fault)[:300])
    return history


def report(told: list[History], *, show: bool) -> int:
    broken = sorted((each for each in told if each.faults), key=lambda each: each.seed)
    kinds = Counter(fault.partition(":")[0] for each in broken for fault in each.faults)
    of = Counter(kind for each in broken for kind in {f.partition(":")[0] for f in each.faults})
    changes: Counter[str] = Counter()
    for each in told:
        changes.update(each.counts)
    lines = [f"{len(told)} histories, {len(broken)} broken; changes by whose: {dict(changes)}"]
    lines += [f"  {kind}: {count} in {of[kind]} histories" for kind, count in kinds.most_common()]
    lines += ["seeds: " + " ".join(str(each.seed) for each in broken)]
    sys.stdout.write("\n".join(lines) + "\n")
    if show:
        told_whole(broken)
    return 1 if broken else 0


if __name__ == "__main__":
    sys.exit(main())
