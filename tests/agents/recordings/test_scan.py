"""What a recording of a folder holds, and that the next one reads no more than has changed."""

import os
import stat
import subprocess
import time
from pathlib import Path

import pytest

from tests.inner import SCAN_CLOCK as CLOCK
from tests.inner import (
    Evidence,
    Store,
    changes_between,
    path_bytes,
    path_text,
    scan,
)
from tests.patience import until_files_are_older


@pytest.fixture
def root(own_home):
    folder = own_home / "linked"
    folder.mkdir()
    return folder


def record(root):
    with Store.of(root) as store, store.locked(root):
        return scan.record(root, store)


def files(root, snapshot):
    """Path, type and permission bits, and content of all that is recorded."""
    with Store.of(root) as store:

        def below(tree, inside=b""):
            for name, entry in store.tree(tree).items():
                if entry.is_folder:
                    yield from below(entry.oid, inside + name + b"/")
                else:
                    yield inside + name, (oct(entry.mode), store.read(entry.oid))

        return dict(below(snapshot.tree))


def names(root, snapshot):
    return sorted(files(root, snapshot))


def aged(root):
    """As if all of it had been there for an hour, and was recorded since."""
    record(root)
    hour = time.time() - 3600
    for inside, _, names in os.walk(root):
        for name in names:
            os.utime(Path(inside, name), (hour, hour), follow_symlinks=False)
    until_files_are_older(CLOCK)
    record(root)


def test_a_second_name_is_recorded_while_the_first_lies_in_the_trash(root, own_home):
    (root / "a").write_text("text")
    (root / "b").hardlink_to(root / "a")
    trash = own_home / "deleted-files" / "ada" / "key"
    trash.mkdir(parents=True)
    (root / "a").rename(trash / "item")
    assert names(root, record(root)) == [b"b"]
    (own_home / "elsewhere").hardlink_to(root / "b")
    assert record(root).skipped.keys() == {b"b"}


def test_content_permission_bits_and_links_are_recorded(root):
    (root / "a.txt").write_text("one")
    (root / "a.txt").chmod(0o640)
    (root / "run.sh").write_text("#!/bin/sh")
    (root / "run.sh").chmod(0o755)
    (root / "docs").mkdir()
    (root / "docs" / "b.md").symlink_to("/etc/passwd")
    (root / "loop").symlink_to("loop")
    found = files(root, record(root))
    assert found == {
        b"a.txt": (oct(stat.S_IFREG | 0o640), b"one"),
        b"run.sh": (oct(stat.S_IFREG | 0o755), b"#!/bin/sh"),
        b"docs/b.md": (oct(0o120777), b"/etc/passwd"),
        b"loop": (oct(0o120777), b"loop"),
    }


@pytest.mark.parametrize(
    "name", ["übung.md", "文档.md", "a b\nc", "-rf", "'\"`$(x)", b"\xff\xfe\\x41", "a\\x62", "🗂️"]
)
def test_any_name_is_recorded_and_written_as_text_that_stands_for_it_alone(root, name):
    raw = name if isinstance(name, bytes) else name.encode()
    (root / os.fsdecode(raw)).write_bytes(b"x")
    assert names(root, record(root)) == [raw]
    text = path_text(raw)
    assert path_bytes(text) == raw
    assert text.isprintable()
    text.encode()


def test_pipes_and_sockets_are_not_opened(root):
    os.mkfifo(root / "pipe")
    (root / "a").write_text("")
    assert names(root, record(root)) == [b"a"]


def test_a_file_over_20_mb_is_left_and_said(root, monkeypatch):
    monkeypatch.setattr(scan, "LARGEST", 1000)
    (root / "big").write_bytes(b"x" * 1001)
    (root / "fits").write_bytes(b"x" * 1000)
    snapshot = record(root)
    assert names(root, snapshot) == [b"fits"]
    there = (root / "big").stat()
    left = ("too_large", 1001, there.st_ctime_ns, there.st_ino)
    assert snapshot.skipped == {b"big": left}


@pytest.mark.parametrize(
    ("limit", "most", "said"), [("MOST_FILES", 3, "files"), ("MOST_BYTES", 30, "bytes")]
)
def test_too_much_is_not_recorded_and_nothing_of_it_read(root, monkeypatch, limit, most, said):
    monkeypatch.setattr(scan, limit, most)
    for number in range(4):
        (root / f"{number}.txt").write_text("ten bytes.")
    snapshot = record(root)
    assert (snapshot.tree, snapshot.stopped) == (b"", said)
    assert not list((Store.of(root).folder / "pack").iterdir())


def test_folders_without_end_are_not_walked_to_their_end(root, monkeypatch):
    monkeypatch.setattr(scan, "MOST_FOLDERS", 5)
    for number in range(10):
        (root / str(number)).mkdir()
    snapshot = record(root)
    assert (snapshot.tree, snapshot.stopped) == (b"", "failed")


@pytest.mark.process
def test_what_git_leaves_out_is_left_out(root):
    rules = {".gitignore": "*.log\n/build/\n!keep.log\n", "docs/.gitignore": "draft*\n"}
    paths = ["a.log", "keep.log", "build/x", "docs/build/y", "docs/draft.md", "docs/a.md", "b.py"]
    for path, text in {**rules, **dict.fromkeys(paths, "x")}.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(text)
    subprocess.run(["git", "init", "-q", root], check=True)
    git = ["git", "-C", root, "ls-files", "--others", "--exclude-standard"]
    wanted = subprocess.run(git, check=True, capture_output=True).stdout.splitlines()
    assert names(root, record(root)) == sorted(wanted)
    assert names(root, record(root)) == sorted(wanted)  # by what it remembers


def test_a_folder_called_gitignore_has_no_rules(root):
    (root / ".gitignore").mkdir()
    (root / ".gitignore" / "x").write_text("1")
    assert names(root, record(root)) == [b".gitignore/x"]


def test_what_was_recorded_stays_so_when_it_is_left_out_later(root):
    (root / "a.env").write_text("1")
    (root / "dist").mkdir()
    (root / "dist" / "x").write_text("1")
    record(root)
    (root / ".gitignore").write_text("*.env\ndist/\n")
    (root / "b.env").write_text("1")
    (root / "dist" / "y").write_text("1")
    assert names(root, record(root)) == [b".gitignore", b"a.env", b"dist/x"]


def test_a_file_that_takes_the_name_of_a_folder_that_was_left_out_is_recorded(root):
    (root / ".gitignore").write_text("build/\n")
    (root / "build").mkdir()
    assert names(root, record(root)) == [b".gitignore"]
    (root / "build").rmdir()
    (root / "build").write_text("make\n")
    assert names(root, record(root)) == [b".gitignore", b"build"]


def test_rules_that_move_into_a_folder_mean_what_lies_in_that(root):
    (root / "docs").mkdir()
    (root / ".gitignore").write_text("docs/draft\n")
    (root / "docs" / "draft").write_text("text\n")
    assert names(root, record(root)) == [b".gitignore"]
    (root / ".gitignore").rename(root / "docs" / ".gitignore")
    assert names(root, record(root)) == [b"docs/.gitignore", b"docs/draft"]


@pytest.mark.process
def test_repositories_inside_are_recorded_without_their_git(root):
    inner = root / "vendor" / "lib"
    subprocess.run(["git", "init", "-q", inner], check=True)
    (inner / "a.c").write_text("int a;")
    (root / "worktree").mkdir()
    (root / "worktree" / ".git").write_text("gitdir: /elsewhere")
    assert names(root, record(root)) == [b"vendor/lib/a.c"]


def test_packages_and_caches_are_left_out_without_rules(root):
    for folder in ("node_modules", ".venv", "__pycache__"):
        (root / "sub" / folder).mkdir(parents=True)
        (root / "sub" / folder / "x").write_text("x")
    assert names(root, record(root)) == []


class TestTheNextRecording:
    def test_it_reads_nothing_that_has_not_changed(self, root, monkeypatch):
        (root / "docs").mkdir()
        for number in range(5):
            (root / "docs" / f"{number}.txt").write_text(str(number))
        aged(root)
        read = []
        monkeypatch.setattr(
            scan, "content_of", lambda name, *more: read.append(name) or b"new content"
        )
        before = record(root)
        assert read == []
        (root / "docs" / "3.txt").write_text("another")
        after = record(root)
        assert read == [b"3.txt"]
        assert before.tree != after.tree

    def test_a_change_within_one_tick_of_the_clock_is_seen(self, root):
        path = root / "a.txt"
        path.write_text("one")
        status = path.stat()
        before = record(root)
        path.write_text("two")
        os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))
        assert record(root).tree != before.tree

    def test_a_change_that_hides_its_time_is_seen(self, root):
        path = root / "a.txt"
        path.write_text("one")
        aged(root)
        before, status = record(root), path.stat()
        path.write_text("two")
        os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))
        assert record(root).tree != before.tree

    def test_a_file_that_takes_the_place_of_another_is_seen(self, root):
        (root / "a").write_text("one")
        (root / "b").write_text("two")
        aged(root)
        before = record(root)
        (root / "b").rename(root / "a")
        assert files(root, record(root))[b"a"][1] == b"two"
        assert record(root).tree != before.tree

    def test_permission_bits_and_empty_folders_are_changes(self, root):
        (root / "a").write_text("one")
        trees = [record(root).tree]
        (root / "a").chmod(0o600)
        trees.append(record(root).tree)
        (root / "empty").mkdir()
        trees.append(record(root).tree)
        (root / "empty").rmdir()
        trees.append(record(root).tree)
        assert trees[1] == trees[3]
        assert len(set(trees)) == 3

    @pytest.mark.parametrize("harm", ["gone", "cut", "other"])
    def test_an_index_that_is_not_whole_only_costs_time(self, root, harm):
        (root / "a").write_text("one")
        before = record(root)
        path = Store.of(root).folder / "index"
        content = path.read_bytes()
        path.unlink()
        if harm != "gone":
            path.write_bytes(content[:-7] if harm == "cut" else b"x" * len(content))
        assert not scan.read_index(path).files
        assert record(root).tree == before.tree

    def test_a_folder_that_has_gone_holds_nothing(self, root):
        (root / "a").write_text("one")
        record(root)
        (root / "a").unlink()
        root.rmdir()
        assert files(root, record(root)) == {}

    def test_what_cannot_be_opened_is_not_taken_for_empty(self, root):
        """A link that has taken its place, a folder closed to us, no handle left."""
        (root / "a").write_text("one")
        record(root)
        root.rename(root.with_name("moved"))
        root.symlink_to("moved")
        assert record(root).stopped == "failed"

    @pytest.mark.parametrize("harm", ["folder", "files"])
    def test_what_cannot_be_looked_at_is_not_taken_for_deleted(self, root, monkeypatch, harm):
        (root / "closed" / "inner").mkdir(parents=True)
        for path in ("a", "closed/b", "closed/inner/c"):
            (root / path).write_text("one")
        before = record(root)
        (root / "a").write_text("two")
        with monkeypatch.context() as patch:
            (closed_folder if harm == "folder" else closed_files)(patch)
            found = changes(root, before)
        modified, hidden = ("a", "modified", ""), "not_recorded"
        if harm == "folder":
            assert found == [modified, ("closed", hidden, "unreadable")]
        else:
            assert found == [modified, ("closed/b", hidden, "unreadable")]


def closed_folder(patch):
    def opened(path, *args, **kwargs):
        if path == b"closed":
            raise PermissionError(13, "closed")
        return os_open(path, *args, **kwargs)

    os_open = os.open
    patch.setattr(os, "open", opened)


def closed_files(patch):
    class Closed:
        def stat(self, **_):
            raise PermissionError(13, "closed")

    def file(self, handle, path, each):
        is_closed = path.rpartition(b"/")[0] == b"closed"
        return real(self, handle, path, Closed() if is_closed else each)

    real = scan.Scan.file
    patch.setattr(scan.Scan, "file", file)


def changes(root, before):
    with Store.of(root) as store, store.locked(root):
        now = scan.record(root, store)
        found = changes_between(store, before.tree, {}, now, Evidence(0))
    return [(each.path, each.kind, each.why) for each in found]
