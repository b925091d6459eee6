"""An undo of which steps fail, or that is killed: what was moved goes back at all of its paths, or
stays at all, and nothing of before leaves the folder."""

import errno
import os
import random
import shutil
from contextlib import suppress
from functools import partial
from pathlib import Path
from unittest.mock import Mock

import pytest

from tests.inner import Evidence, Store, Writes, changes_between, restore, undo_preview
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
            ["move", "move", "folder", "folder", "swap", "write", "remove", "in place", "into"]
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
        elif act == "into" and (other := root / chance.choice(there)).is_file() and other != path:
            path.unlink()
            path.mkdir()
            other.rename(path / other.name)


class Killed(BaseException):
    pass


FILES = partial(pytest.fail, "no trash")


def taken_back(root, store, change, **evidence):
    """The steps that take back what `change` does in the folder."""
    first = record(root, store)
    change()
    now = record(root, store)
    inodes = {path: inode for path, (inode, _) in first.folders.items()}
    known = Evidence(0, ALWAYS, ALWAYS, **{"folders": inodes, **evidence})
    changes = changes_between(store, first.tree, {}, now, known)
    rows = undo_preview.preview(root, store, changes)
    modes = undo_preview.modes_in_tree(store, first.tree)
    return undo_preview.steps_for(root, rows, lambda row: True, modes)


def killed_between_steps(root, store, steps, name, number):
    """Before the step of this number, counted from the first that is done or put back."""
    real, count = restore.done, 0

    def done(*args):
        nonlocal count
        count += 1
        if count > number:
            raise Killed
        return real(*args)

    with pytest.MonkeyPatch.context() as patch, suppress(Killed):
        patch.setattr(restore, "done", done)
        restore.carry_out(root, store, steps, name, FILES)


def saved_by_a_person(root, path):
    """What a person overwrites; None where they cannot save there."""
    file = root / path
    with suppress(OSError):
        file.parent.mkdir(parents=True, exist_ok=True)
        was = file.read_bytes() if file.exists() else b""
        file.write_text(f"saved at {path}\n")
        return was
    return None


@pytest.mark.parametrize("seed", range(60))
def test_of_what_was_moved_all_goes_back_or_none_whatever_fails(own_home, seed, monkeypatch):
    chance, root = random.Random(seed), own_home / "root"
    for number, folder in enumerate((*FOLDERS, *FOLDERS)):
        (root / folder).mkdir(parents=True, exist_ok=True)
        (root / folder / f"f{number}").write_text(f"of before {number}\n" * chance.randint(1, 9))
    before, name = tree_of(root), f"undo {seed}"
    with Store.of(root) as store, store.locked(root):
        evidence = {} if seed % 5 else {"folders": {}}  # of old recordings none
        steps = taken_back(root, store, partial(work, root, chance), **evidence)
        after, saved = tree_of(root), {}
        failing = {step.path for step in steps if chance.random() < 0.25}
        for door in ("put", "is_removed"):
            fail_at(monkeypatch, door, failing)
        for _ in range(chance.choice([0, 0, 1, 2]) if steps else 0):
            killed_between_steps(root, store, steps, name, chance.randint(0, 2 * len(steps)))
            path = chance.choice(steps).path
            if chance.random() < 0.5 and (was := saved_by_a_person(root, path)) is not None:
                saved.setdefault(path, set()).add(was)
        kept = restore.carry_out(root, store, steps, name, FILES)
        monkeypatch.undo()
        found = tree_of(root)
        for step in steps:
            if step.path in saved:
                continue
            is_back = found.get(step.path) == before.get(step.path)
            is_left = found.get(step.path) == after.get(step.path)
            assert is_left if step.path in kept else is_back, (step.path, kept)
            if not saved:
                assert {path in kept for path in step.others} <= {step.path in kept}, step.path
        assert set(found) <= set(before) | set(after)  # nothing is left beside
        lost = {*before.values()} & {*after.values()} - {*found.values()}
        is_barred = {before.get(path) for path in failing | {*saved}}  # from coming back
        overwritten = [was for each in saved.values() for was in each if was in before.values()]
        assert len(lost - is_barred) <= len(overwritten), (lost, kept)
        again = restore.carry_out(root, store, steps, name, FILES)
    assert saved or (again == {} and tree_of(root) == before)


@pytest.fixture
def root(own_home):
    root = own_home / "root"
    (root / "deep").mkdir(parents=True)
    (root / "a").write_text("A of before\n")
    (root / "b").write_text("B of before!\n")
    (root / "deep" / "c").write_text("C of before\n")
    return root


def test_where_a_file_became_the_folder_of_a_moved_one_both_stay(root, monkeypatch):
    def change():
        (root / "b").unlink()
        (root / "b").mkdir()
        (root / "deep" / "c").rename(root / "b" / "inside")

    with Store.of(root) as store, store.locked(root):
        steps = taken_back(root, store, change)
        after = tree_of(root)
        fail_at(monkeypatch, "put", {"deep/c"})
        kept = restore.carry_out(root, store, steps, "undo 1", FILES)
    assert tree_of(root) == after and set(kept) == {"b", "b/inside", "deep/c"}


def swap(root):
    (root / "a").rename(root / "tmp")
    (root / "b").rename(root / "a")
    (root / "tmp").rename(root / "b")


def test_what_a_killed_try_had_done_is_put_back_where_a_save_keeps_the_other(root):
    with Store.of(root) as store, store.locked(root):
        steps = taken_back(root, store, partial(swap, root))
        assert restore.carry_out(root, store, steps, "undo 1", FILES) == {}  # killed after that
        (root / "a").write_text("hers\n")
        kept = restore.carry_out(root, store, steps, "undo 1", FILES)
    assert kept == {"a": "changed", "b": "changed"}
    assert (root / "b").read_text() == "A of before\n"


@pytest.mark.parametrize("number", [1, 2])
def test_what_a_killed_try_had_moved_away_from_a_save_comes_to_its_old_place(root, number):
    with Store.of(root) as store, store.locked(root):
        steps = taken_back(root, store, partial((root / "deep" / "c").rename, root / "c"))
        killed_between_steps(root, store, steps, "undo 1", number)
        (root / "c").write_text("hers\n")
        kept = restore.carry_out(root, store, steps, "undo 1", FILES)
    assert kept == {"c": "changed"} and (root / "c").read_text() == "hers\n"
    assert (root / "deep" / "c").read_text() == "C of before\n"


def test_a_killed_try_leaves_nothing_beside_a_file_that_stays(root, monkeypatch):
    with Store.of(root) as store, store.locked(root):
        steps = taken_back(root, store, partial(swap, root))
        with monkeypatch.context() as patch, pytest.raises(Killed):
            doors = [restore.exchange, Mock(side_effect=Killed)]
            patch.setattr(restore, "exchange", lambda *args: doors.pop(0)(*args))
            restore.carry_out(root, store, steps, "undo 1", FILES)
        assert len(tree_of(root)) == 4
        (root / "a").write_text("hers\n")
        assert set(restore.carry_out(root, store, steps, "undo 1", FILES)) == {"a", "b"}
    assert set(tree_of(root)) == {"a", "b", "deep/c"}


def fail_at(monkeypatch, name, paths):
    real = getattr(restore, name)

    def failing(*args):
        if any(isinstance(each, restore.Step) and each.path in paths for each in args):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        return real(*args)

    monkeypatch.setattr(restore, name, failing)


def test_where_the_store_is_gone_a_file_does_not_count_as_gone(root, monkeypatch):
    with Store.of(root) as store:
        monkeypatch.setattr(store, "add_blob", Mock(side_effect=FileNotFoundError))
        with pytest.raises(FileNotFoundError):
            restore.found(root, "a", store)
