"""What recording a folder takes: for the first time, unchanged, with 100 changes; and its disk."""

import os
import tempfile
import time
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from random import Random

import django

IN_A_FOLDER = 20  # files
SUBTASKS = 200


def figures():
    """Milliseconds for 1,000 and 50,000 files, then megabytes after 200 recordings; yields
    (what, figure)."""
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "tests.settings")
    django.setup()
    from django.conf import settings

    for count in (1_000, 50_000):
        with tempfile.TemporaryDirectory() as home:
            root = Path(home) / "folder"
            settings.PLANSIDE_HOME = Path(home) / "home"
            files = filled(root, count)
            yield f"recording {count:,} files, first, ms", f"{took(root):.0f}"
            time.sleep(0.2)  # longer than a tick of the clock: nothing is read twice
            took(root)
            unchanged = min(took(root) for _ in range(5))
            yield "   unchanged, ms", f"{unchanged:.0f}"
            for path in files[:100]:
                path.write_text(path.read_text() + "more\n")
            yield "   with 100 changed, ms", f"{took(root):.0f}"
            if count == 1_000:
                yield f"   its store after {SUBTASKS} subtasks, MB", f"{grown(root, files):.1f}"


def filled(root, count):
    """Text of about 4 kB each."""
    random = Random(1)
    words = [f"word{n}" for n in range(5_000)]
    files = []
    for number in range(count):
        path = (
            root / f"d{number // IN_A_FOLDER % 50}" / f"e{number // IN_A_FOLDER}" / f"{number}.txt"
        )
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("\n".join(" ".join(random.choices(words, k=9)) for _ in range(60)))
        files.append(path)
    return files


def of_changes(module):
    """Also of a checkout in which it is called recordings."""
    name = "changes" if find_spec("agents.changes") else "recordings"
    return import_module(f"agents.{name}.{module}")


def took(root):
    record, stores = of_changes("scan").record, of_changes("store").Store
    began = time.perf_counter()
    with stores.of(root) as store, store.locked(root):
        record(root, store)
    return (time.perf_counter() - began) * 1000


def grown(root, files):
    """Three files are edited by each subtask."""
    stores = of_changes("store").Store
    gather_small = getattr(stores, "gather_small", None) or of_changes("compaction").gather_small
    random = Random(2)
    for number in range(SUBTASKS):
        for path in random.sample(files, 3):
            path.write_text(path.read_text() + f"\nby subtask {number}")
        took(root)
        with stores.of(root) as store, store.locked():
            gather_small(store)
    folder = stores.of(root).folder
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file()) / 1e6


if __name__ == "__main__":
    for what, figure in figures():
        print(f"{what:<44}{figure:>18}")  # noqa: T201
