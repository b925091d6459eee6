"""What a recording of a folder holds, and that the next one reads no more than has changed."""

import os
import stat
import subprocess
import time
from pathlib import Path
from types import SimpleNamespace

import pytest

from tests.inner import (
    BLOB,
    MOST_PACKS,
    TREE,
    Evidence,
    Store,
    StoreBroken,
    changes_between,
    gather_small,
    keep_only,
    oid_of,
    path_bytes,
    path_text,
    scan,
)
from tests.inner import SCAN_CLOCK as CLOCK
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
            scan, "read_plain", lambda name, *more: read.append(name) or b"new content"
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
        assert scan.read_index(path) == {}
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

    def file(self, handle, parts, each, is_out):
        is_closed = parts[:-1] == (b"closed",)
        return real(self, handle, parts, Closed() if is_closed else each, is_out)

    real = scan.Scan.file
    patch.setattr(scan.Scan, "file", file)


def changes(root, before):
    with Store.of(root) as store, store.locked(root):
        now = scan.record(root, store)
        found = changes_between(store, before.tree, {}, now, Evidence(0))
    return [(each.path, each.kind, each.why) for each in found]


def test_what_no_recording_names_is_thrown_away(root):
    (root / "a").write_text("one")
    first = record(root)
    (root / "a").write_text("two")
    second = record(root)
    (root / "a").write_text("three")
    record(root)
    with Store.of(root) as store, store.locked():
        keep_only(store, [second.tree], [])
    assert files(root, second)[b"a"][1] == b"two"
    assert files(root, record(root))[b"a"][1] == b"three"  # it is taken for stored
    with Store.of(root) as store, pytest.raises(Exception, match=first.tree.hex()):
        store.tree(first.tree)


def test_many_small_packs_become_one(root):
    snapshots = []
    for number in range(MOST_PACKS + 1):
        (root / "a").write_text(f"text {number}")
        snapshots.append(record(root))
    with Store.of(root) as store, store.locked():
        gather_small(store)
        assert len(store.packs()) == 1
    assert [files(root, each)[b"a"][1] for each in snapshots] == [
        f"text {number}".encode() for number in range(MOST_PACKS + 1)
    ]


def zeros(content):
    return bytes(len(content))


def half(content):
    return content[: len(content) // 2]


def turned(content):
    """Its later half is another one."""
    middle = len(content) // 2
    return content[:middle] + bytes(each ^ 0x55 for each in content[middle:])


def nothing(content):
    return b""


def recorded_files(root):
    contents = [os.urandom(3000), b"text\n" * 1000]
    for name, content in zip("ab", contents, strict=True):
        (root / name).write_bytes(content)
    return files_and_tree(root, record(root))


def damage(root, kind, harm):
    with Store.of(root) as store:
        for path in (store.folder / "pack").glob(f"*.{kind}"):
            path.write_bytes(harm(path.read_bytes()))


@pytest.mark.parametrize("kinds", [["pack"], ["pack", "idx"]])
@pytest.mark.parametrize("harm", [zeros, half, turned])
def test_of_damaged_packs_it_is_said_that_they_are(root, kinds, harm):
    entries = recorded_files(root)
    for kind in kinds:
        damage(root, kind, harm)
    broken = 0
    for oid in entries:
        with Store.of(root) as store:
            try:
                store.read(oid)
            except StoreBroken:
                broken += 1
        with Store.of(root) as store:
            try:
                store.holds(oid)
            except StoreBroken:
                assert "idx" in kinds
    assert broken


@pytest.mark.parametrize("harm", [zeros, half, turned, nothing])
class TestADamagedIndex:
    """Its pack says all that it said."""

    def test_what_was_recorded_is_read_all_the_same(self, root, harm):
        entries = recorded_files(root)
        damage(root, "idx", harm)
        for oid in entries:
            with Store.of(root) as store:
                assert oid_of(TREE if oid == entries[0] else BLOB, store.read(oid)) == oid
        damage(root, "idx", harm)
        with Store.of(root) as store:
            assert all(store.holds(oid) for oid in entries)

    def test_the_next_recording_and_the_compaction_go_on_from_there(self, root, harm):
        recorded_files(root)
        first = record(root)
        damage(root, "idx", harm)
        (root / "c").write_text("new")
        second = record(root)
        assert names(root, second) == [b"a", b"b", b"c"]
        damage(root, "idx", harm)
        with Store.of(root) as store, store.locked():
            keep_only(store, [first.tree, second.tree], [])
        assert names(root, first) == [b"a", b"b"]

    def test_while_somebody_writes_there_it_is_left_for_later(self, root, harm):
        entries = recorded_files(root)
        damage(root, "idx", harm)
        with (
            Store.of(root) as writer,
            writer.locked(),
            Store.of(root) as store,
            pytest.raises(StoreBroken),
        ):
            store.read(entries[0])
        with Store.of(root) as store:
            store.read(entries[0])


def files_and_tree(root, snapshot):
    with Store.of(root) as store:
        return [snapshot.tree, *(entry.oid for entry in store.tree(snapshot.tree).values())]


class TestWhereAnObjectIsDamaged:
    UNNAMED = b"no row names it"

    def recorded(self, root):
        """Two states of the folder, the second also by the index and beside what no row names."""
        (root / "a").write_text("one\n")
        (root / "docs").mkdir()
        (root / "docs" / "b").write_text("two\n")
        first = record(root)
        (root / "docs" / "b").write_text("three\n" * 20)
        (root / "c").write_bytes(os.urandom(50_000))
        with Store.of(root) as store, store.locked():
            store.add_blob(self.UNNAMED)
            return first, scan.record(root, store)

    def harmed(self, root, oid):
        """In its pack, as a failing disk would, the object begins with other bytes."""
        from dulwich.object_format import DEFAULT_OBJECT_FORMAT
        from dulwich.pack import Pack

        with Store.of(root) as store:
            for path in store.packs():
                with Pack(str(path.with_suffix("")), object_format=DEFAULT_OBJECT_FORMAT) as pack:
                    places = {sha: offset for sha, offset, _ in pack.index.iterentries()}
                if (at := places.get(oid)) is not None:
                    content = bytearray(path.read_bytes())
                    content[at + 3 : at + 9] = b"\xff" * 6
                    path.write_bytes(bytes(content))

    @pytest.mark.parametrize("harmed", ["tree", "folder", "file", "list"])
    def test_what_no_recording_names_is_thrown_away_all_the_same(self, root, harmed):
        first, second = self.recorded(root)
        with Store.of(root) as store, store.locked():
            listed = store.add_blob(b'[{"oid":"' + store.add_blob(b"x").hex().encode() + b'"}]')
            store.flush()
            folder = store.tree(second.tree)[b"docs"].oid
            oids = {
                "tree": second.tree,
                "folder": folder,
                "file": store.find(folder, b"b").oid,
                "list": listed,
            }
        self.harmed(root, oids[harmed])
        with Store.of(root) as store, store.locked():
            with pytest.raises(StoreBroken):
                store.read(oids[harmed])
            keep_only(store, [first.tree, second.tree], [listed])
            assert not store.holds(oid_of(BLOB, self.UNNAMED))
        assert files(root, first)[b"docs/b"][1] == b"two\n"
        assert names(root, record(root)) == [b"a", b"c", b"docs/b"]
        assert files(root, record(root))[b"docs/b"][1] == b"three\n" * 20

    def test_what_could_not_be_looked_at_is_not_taken_for_damaged(self, root, monkeypatch):
        _, second = self.recorded(root)
        with Store.of(root) as store, store.locked():
            before = sorted(store.packs())

            def closed(*_):
                raise OSError(24, "Too many open files")

            with monkeypatch.context() as patch:
                patch.setattr(Store, "objects", SimpleNamespace(get_raw=closed, close=int))
                with pytest.raises(StoreBroken):
                    keep_only(store, [second.tree], [])
            assert sorted(store.packs()) == before
            assert (store.folder / "index").exists()

    def test_packs_that_cannot_be_put_together_stay(self, root):
        for number in range(MOST_PACKS + 1):
            (root / "a").write_text(f"text {number}")
            last = record(root)
        with Store.of(root) as store, store.locked():
            broken = min(store.packs()).with_suffix(".idx")
            content = broken.read_bytes()
            pack = broken.with_suffix(".pack")
            whole = pack.read_bytes()
            broken.write_bytes(content[:100])
            pack.write_bytes(whole[:-1])
            gather_small(store)
            broken.write_bytes(content)
            pack.write_bytes(whole)
        assert names(root, last) == [b"a"]
