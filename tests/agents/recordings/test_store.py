"""The objects of a folder's recordings: written whole or not at all, read where they are whole."""

import gc
import os
from pathlib import Path
from types import SimpleNamespace

import pytest

from tests.agents.recordings.test_scan import aged, files, names, record
from tests.agents.recordings.test_scan import root as root
from tests.inner import BLOB, MOST_PACKS, Store, StoreBroken, oid_of


def packs(root):
    return sorted((Store.of(root).folder / "pack").glob("*.pack"))


def with_new_generation(root):
    with Store.of(root) as store, store.locked():
        store.begin_generation()
    return Store.of(root).folder


class TestAGeneration:
    def test_what_is_recorded_in_a_new_one_needs_none_before_it(self, root):
        (root / "docs" / "empty").mkdir(parents=True)
        (root / "docs" / "a").write_text("one")
        (root / "link").symlink_to("docs")
        first = record(root)
        earlier = Store.of(root).folder
        with_new_generation(root)
        second = record(root)
        assert second.tree == first.tree
        with Store.of(root) as store, store.locked():
            store.drop(earlier)
        assert sorted(files(root, second)) == [b"docs/a", b"link"]
        with Store.of(root) as store:
            assert store.find(second.tree, b"docs/empty")

    def test_what_the_rules_left_out_later_goes_on_to_be_recorded(self, root):
        (root / "a.env").write_text("1")
        (root / "dist" / "inside").mkdir(parents=True)
        (root / "dist" / "inside" / "x").write_text("1")
        record(root)
        (root / ".gitignore").write_text("*.env\ndist/\n")
        (root / "b.env").write_text("1")
        first = record(root)
        earlier = Store.of(root).folder
        with_new_generation(root)
        second = record(root)
        with Store.of(root) as store, store.locked():
            store.drop(earlier)
        assert second.tree == first.tree
        assert names(root, second) == [b".gitignore", b"a.env", b"dist/inside/x"]

    def test_what_lies_in_earlier_ones_is_read(self, root):
        snapshots = []
        for text in ("one", "two", "three"):
            (root / "a").write_text(text)
            snapshots.append(record(root))
            with_new_generation(root)
        with Store.of(root) as store:
            assert len(store.generations()) == 4
        found = [files(root, each)[b"a"][1] for each in snapshots]
        assert found == [b"one", b"two", b"three"]

    def test_what_a_writer_asks_for_is_in_the_newest_afterwards(self, root):
        with Store.of(root) as store, store.locked(root):
            oid = store.add_blob(b"is put back by an undo")
            store.flush()
        earlier = Store.of(root).folder
        with_new_generation(root)
        with Store.of(root) as store:
            assert store.holds(oid)
        assert not packs(root)
        with Store.of(root) as store, store.locked():
            assert store.holds(oid)
            store.flush()
            store.drop(earlier)
            assert store.read(oid) == b"is put back by an undo"

    def test_it_comes_after_the_one_before_whatever_the_clock_says(self, root, monkeypatch):
        record(root)
        earlier = with_new_generation(root)
        monkeypatch.setattr("time.time", lambda: 1_000_000.0)
        last = with_new_generation(root)
        assert Store.of(root).generations()[1:] == [earlier, last]


class TestWhatIsWritten:
    def test_it_is_on_the_disk_the_pack_before_its_index_and_the_folder_last(
        self, root, monkeypatch
    ):
        synced = []

        def fsync(handle):
            synced.append(Path(f"/proc/self/fd/{handle}").readlink())
            real(handle)

        with Store.of(root) as store, store.locked(root):
            store.add_blob(b"x")
            real = os.fsync
            monkeypatch.setattr(os, "fsync", fsync)
            store.flush()
        assert [path.name.partition(".")[2] for path in synced] == ["pack.lock", "idx.lock", ""]
        assert synced[-1] == Store.of(root).folder / "pack"

    # The library leaves a file that it could not sync to the collector, which removes it.
    @pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
    @pytest.mark.parametrize("written", [0, 1, 2])
    def test_on_a_full_disk_nothing_half_written_is_read_and_the_next_is_whole(
        self, root, monkeypatch, written
    ):
        (root / "a").write_text("one")
        first = record(root)
        (root / "a").write_text("two")
        left = [written]

        def fsync(handle):
            left[0] -= 1
            if left[0] < 0:
                raise OSError(28, "No space left on device")
            real(handle)

        real = os.fsync
        with monkeypatch.context() as patch:
            patch.setattr(os, "fsync", fsync)
            with pytest.raises(OSError, match="No space"):
                record(root)
        gc.collect()
        assert files(root, first)[b"a"][1] == b"one"
        assert files(root, record(root))[b"a"][1] == b"two"

    def test_what_a_killed_process_left_of_a_pack_is_not_read_and_goes(self, root):
        (root / "a").write_text("one")
        snapshot = record(root)
        inside = Store.of(root).folder / "pack"
        whole = sorted(inside.iterdir())
        for name in ("pack-1.pack.lock", "pack-2.pack", "pack-2.idx.lock"):
            (inside / name).write_bytes(b"PACK")
        assert names(root, snapshot) == [b"a"]
        with Store.of(root) as store, store.locked():
            store.remove_unfinished()
        assert sorted(inside.iterdir()) == whole


class TestManyPacks:
    def many(self, root):
        snapshots = []
        for number in range(MOST_PACKS + 1):
            (root / "a").write_text(f"text {number}")
            snapshots.append(record(root))
        return snapshots

    def texts(self, root, snapshots):
        return [files(root, each)[b"a"][1].decode() for each in snapshots]

    def test_small_ones_become_one(self, root):
        snapshots = self.many(root)
        with Store.of(root) as store, store.locked():
            store.gather_small()
        assert len(packs(root)) == 1
        assert self.texts(root, snapshots) == [f"text {n}" for n in range(MOST_PACKS + 1)]

    def test_who_reads_meanwhile_looks_once_more(self, root):
        snapshots = self.many(root)
        with Store.of(root) as reader:
            reader.tree(snapshots[0].tree)
            with Store.of(root) as store, store.locked():
                store.gather_small()
            for each in snapshots:
                assert reader.tree(each.tree)
        assert (Store.of(root).folder / "index").exists()

    def test_a_damaged_one_stays(self, root):
        snapshots = self.many(root)
        broken = packs(root)[3]
        content = broken.read_bytes()
        broken.write_bytes(turned(content))
        with Store.of(root) as store, store.locked():
            store.gather_small()
        assert broken in packs(root) and len(packs(root)) == 2
        broken.write_bytes(content)
        assert self.texts(root, snapshots) == [f"text {n}" for n in range(MOST_PACKS + 1)]

    def test_where_they_cannot_be_put_together_they_are_many(self, root, monkeypatch):
        snapshots = self.many(root)

        def full(*_):
            raise OSError(28, "No space left on device")

        with monkeypatch.context() as patch, Store.of(root) as store, store.locked():
            patch.setattr("agents.changes.store.sync_folder", full)
            store.gather_small()
        assert len(packs(root)) > MOST_PACKS
        assert self.texts(root, snapshots) == [f"text {n}" for n in range(MOST_PACKS + 1)]


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


def gone(content):
    return None


def damage(root, kind, harm):
    for path in (Store.of(root).folder / "pack").glob(f"*.{kind}"):
        harmed = harm(path.read_bytes())
        path.unlink() if harmed is None else path.write_bytes(harmed)


def is_whole(root, snapshot):
    """Whether all of it can be read, as whoever shows it would."""
    try:
        return files(root, snapshot) is not None
    except StoreBroken:
        return False


@pytest.mark.parametrize("kinds", [["pack"], ["idx"], ["pack", "idx"]])
@pytest.mark.parametrize("harm", [zeros, half, turned, nothing, gone])
class TestWhereAllPacksAreDamaged:
    @pytest.fixture
    def damaged(self, root, kinds, harm):
        """Of a folder that nobody has changed since."""
        (root / "a").write_bytes(os.urandom(3000))
        (root / "docs").mkdir()
        (root / "docs" / "b").write_bytes(b"text\n" * 1000)
        aged(root)
        recorded = record(root)
        for kind in kinds:
            damage(root, kind, harm)
        return recorded

    def test_that_is_said_and_the_next_recording_is_whole(self, root, damaged):
        assert not is_whole(root, damaged)
        again = record(root)
        assert again.tree == damaged.tree
        assert is_whole(root, again)
        with_new_generation(root)
        assert is_whole(root, record(root))

    def test_what_is_recorded_before_anybody_noticed_holds_what_is_new(self, root, damaged):
        (root / "c").write_text("new")
        second = record(root)
        with Store.of(root) as store:
            assert store.read(store.tree(second.tree)[b"c"].oid) == b"new"
        if not is_whole(root, second):
            assert is_whole(root, record(root))


class TestWhereOneIsDamaged:
    def recorded(self, root):
        (root / "a").write_text("one\n")
        first = record(root)
        known = set(packs(root))
        (root / "b").write_bytes(os.urandom(3000))
        second = record(root)
        [pack] = set(packs(root)) - known
        return first, second, pack

    @pytest.mark.parametrize("kind", [".pack", ".idx"])
    @pytest.mark.parametrize("harm", [zeros, half, turned, nothing])
    def test_all_that_is_elsewhere_is_read(self, root, kind, harm):
        first, second, pack = self.recorded(root)
        path = pack.with_suffix(kind)
        path.write_bytes(harm(path.read_bytes()))
        assert files(root, first)[b"a"][1] == b"one\n"
        assert not is_whole(root, second)
        assert is_whole(root, record(root))

    def test_what_is_written_again_is_whole_though_the_damaged_one_has_it_too(self, root):
        oid = oid_of(BLOB, b"text\n" * 1000)
        for harm in (zeros, turned, half):
            with Store.of(root) as store, store.locked(root):
                assert store.add_blob(b"text\n" * 1000) == oid
                store.flush()
                assert store.read(oid) == b"text\n" * 1000
            damage(root, "pack", harm)

    def test_what_could_not_be_looked_at_is_not_taken_for_damaged(self, root, monkeypatch):
        first, *_ = self.recorded(root)

        def closed(*_):
            raise OSError(24, "Too many open files")

        with monkeypatch.context() as patch:
            patch.setattr(Store, "packs", {root: [SimpleNamespace(get_raw=closed)]})
            for ask in (Store.read, Store.holds):
                with Store.of(root) as store, pytest.raises(StoreBroken) as broken:
                    ask(store, first.tree)
                assert broken.value.for_now
        assert (Store.of(root).folder / "index").exists()
        with Store.of(root) as store:
            assert store.holds(first.tree)
