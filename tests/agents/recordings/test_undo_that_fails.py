"""An undo of which steps fail: what was moved goes back at all of its paths, or stays at all."""

import errno
import os
import random
import shutil
from functools import partial
from pathlib import Path

import pytest

from tests.inner import Evidence, Store, Writes, changes_between, restore
from tests.inner import scan_record as record

FOLDERS = ("", "a", "b", "a/deep", "c")
ALWAYS = Writes([(0, 2**62)])


def tree_of(root):
    """Content by path; what an undo might leave beside a file is among it."""
    walked = ((Path(base), name) for base, _, names in os.walk(root) for name in names)
    return {
        str((base / name).relative_to(root)): (base / name).read_bytes() for base, name in walked
    }


def work(root, chance):
    """What a turn might do: files and folders are moved, copied, written and removed."""
    there = sorted(tree_of(root))
    for number in range(chance.randint(1, 6)):
        path = root / chance.choice(there)
        to = root / chance.choice(FOLDERS) / f"n{number}"
        folders = [root / each for each in FOLDERS[1:] if (root / each).is_dir()]
        act = chance.choice(
            ["move", "move", "folder", "folder", "swap", "write", "remove", "in place"]
        )
        to.parent.mkdir(parents=True, exist_ok=True)
        if act == "folder" and folders:
            shutil.move(chance.choice(folders), root / f"moved{number}")
        elif not path.is_file():
            continue
        elif act == "move":
            path.rename(to)
        elif act == "swap" and (other := root / chance.choice(there)).is_file() and other != path:
            path.rename(root / "tmp")
            other.rename(path)
            (root / "tmp").rename(other)
        elif act == "write":
            path.write_text(f"written {number}\n")
        elif act == "remove":
            path.unlink()
        elif act == "in place":
            path.unlink()
            path.mkdir()
            (path / "inside").write_text(f"inside {number}\n")


@pytest.mark.parametrize("seed", range(60))
def test_of_what_was_moved_all_goes_back_or_none_whatever_fails(own_home, seed, monkeypatch):
    chance, root = random.Random(seed), own_home / "root"
    for number, folder in enumerate((*FOLDERS, *FOLDERS)):
        (root / folder).mkdir(parents=True, exist_ok=True)
        (root / folder / f"f{number}").write_text(f"of before {number}\n" * chance.randint(1, 9))
    before = tree_of(root)
    with Store.of(root) as store, store.locked(root):
        first = record(root, store)
        work(root, chance)
        after, now = tree_of(root), record(root, store)
        inodes = {path: inode for path, (inode, _) in first.folders.items()}
        known = Evidence(0, ALWAYS, folders=inodes if seed % 5 else {})  # of old recordings none
        changes = changes_between(store, first.tree, {}, now, known)
        rows = restore.preview(root, store, changes)
        modes = restore.modes_in_tree(store, first.tree)
        steps = restore.steps_for(root, rows, lambda row: True, modes)
        failing = {step.path for step in steps if chance.random() < 0.25}
        for name in ("put", "is_removed"):
            fail_at(monkeypatch, name, failing)
        kept = restore.carry_out(
            root, store, steps, f"undo {seed}", partial(pytest.fail, "no trash")
        )
        monkeypatch.undo()
        found = tree_of(root)
        for step in steps:
            is_back = found.get(step.path) == before.get(step.path)
            is_left = found.get(step.path) == after.get(step.path)
            assert is_left if step.path in kept else is_back, (step.path, kept)
            assert {path in kept for path in step.others} <= {step.path in kept}, step.path
        assert set(found) <= set(before) | set(after)  # nothing is left beside
        assert set(kept) >= failing & {step.path for step in steps}
        again = restore.carry_out(
            root, store, steps, f"undo {seed}", partial(pytest.fail, "no trash")
        )
    assert again == {} and tree_of(root) == before


def fail_at(monkeypatch, name, paths):
    real = getattr(restore, name)

    def failing(*args):
        if any(isinstance(each, restore.Step) and each.path in paths for each in args):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        return real(*args)

    monkeypatch.setattr(restore, name, failing)
