"""What is thrown away of what turns changed, and when: nothing that a row still names."""

import os
from datetime import UTC, datetime, timedelta

import pytest
from django.db import OperationalError
from django.db.models import F
from django.utils import timezone

from agents.models import Recording, Undo
from plans import actions
from tests.fake_model import call, say
from tests.inner import Scope, Store, restore, retention, stores
from tests.world import conversation, drive, files_of, scripted, tell

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("own_home")]


@pytest.fixture
def c():
    c = conversation(plan={"enabled": False})
    (files_of(c) / "a.txt").write_text("mine\n")
    return c


def write(c, text, path="a.txt"):
    """A turn that changes a file."""
    scripted(call("write_file", path=path, content=text), say("ok"))
    tell(c, text)
    drive()
    return Recording.objects.latest("pk")


def store_of(c):
    return Store.of(files_of(c).resolve())


def tidied(c):
    with store_of(c) as store, store.locked():
        retention.tidy(store)


def later(c, days):
    """All that has happened so far was so many days before."""
    ago = timedelta(days=days)
    for model, fields in ((Recording, ("began_at", "ended_at")), (Undo, ("created_at",))):
        model.objects.update(**{field: F(field) - ago for field in fields})
    name = store_of(c).path / "root"
    os.utime(name, (name.stat().st_mtime - ago.total_seconds(),) * 2)
    for each in store_of(c).generations():
        if each != store_of(c).path:
            each.rename(each.with_name(f"{int(each.name) - int(ago.total_seconds()):010}"))


def count(c):
    tidied(c)
    return len(store_of(c).generations())


def content(recording):
    """What is read of the one file that it changed, before and after."""
    [change] = Scope(recording.turn).changes.files
    with Store.of(recording.root) as store:
        sides = (change.old, change.new)
        return [store.read(each.entry.oid).decode() if each else None for each in sides]


class TestAGeneration:
    def test_it_ends_after_the_days_for_which_changes_are_kept(self, c, settings):
        settings.KEEP_CHANGES_DAYS = 10
        write(c, "1\n")
        later(c, 9)
        assert count(c) == 1
        later(c, 2)
        assert count(c) == 2
        later(c, 9)
        assert count(c) == 2

    def test_it_ends_where_it_is_large(self, c, monkeypatch):
        write(c, "1\n")
        monkeypatch.setattr(retention, "MOST_BYTES", 1000)
        assert count(c) == 2

    def test_it_is_kept_as_long_as_a_row_names_it(self, c):
        first = write(c, "1\n")
        later(c, 31)
        assert count(c) == 2
        later(c, 1)
        second = write(c, "2\n")
        assert count(c) == 2
        assert content(first) == ["mine\n", "1\n"]
        retention.forget_old()
        assert count(c) == 1
        assert content(second) == ["1\n", "2\n"]
        actions.undo_changes(Scope(second.turn), "alice")
        assert (files_of(c) / "a.txt").read_text() == "1\n"

    def test_of_a_turn_that_ended_in_the_next_one_both_are_kept(self, c):
        def model(request):
            if request["messages"][-1]["role"] != "tool":
                return call("write_file", path="a.txt", content="1\n")
            with store_of(c) as store, store.locked():
                store.begin_generation()
            return say("ok")

        scripted(model)
        tell(c, "write")
        drive()
        recording = Recording.objects.get()
        later(c, 1)
        assert count(c) == 2
        assert content(recording) == ["mine\n", "1\n"]
        actions.undo_changes(Scope(recording.turn), "alice")
        assert (files_of(c) / "a.txt").read_text() == "mine\n"

    def test_an_undo_needs_none_before_its_own(self, c):
        first = write(c, "1\n")
        later(c, 31)
        assert count(c) == 2
        later(c, 1)
        undo = actions.undo_changes(Scope(first.turn), "alice")
        (files_of(c) / "a.txt").write_text("hers\n")
        retention.forget_old()
        assert count(c) == 1
        with store_of(c) as store:
            [step] = restore.read_steps(store, undo.steps)
            assert store.read(step.to.entry.oid) == b"mine\n"
        (files_of(c) / "a.txt").write_text("mine\n")
        actions.undo_changes(Scope(undo), "alice")
        assert (files_of(c) / "a.txt").read_text() == "1\n"

    def test_of_too_much_the_oldest_goes_with_its_rows_and_no_other(self, c, monkeypatch):
        first = write(c, "1\n")
        later(c, 31)
        assert count(c) == 2
        later(c, 1)
        second = write(c, "2\n")
        size = sum(map(retention.bytes_of, store_of(c).generations()))
        monkeypatch.setattr(retention, "MOST_BYTES", size)
        tidied(c)
        assert store_of(c).path in store_of(c).generations()
        monkeypatch.setattr(retention, "MOST_BYTES", size - 1)
        tidied(c)
        assert store_of(c).path not in store_of(c).generations()
        kept = Recording.objects.exclude(changes="")
        assert list(kept) == [second] and first != second
        assert content(second) == ["1\n", "2\n"]

    def test_what_a_turn_that_has_not_ended_found_stays_however_much_it_is(self, c, monkeypatch):
        first = write(c, "1\n")
        later(c, 31)
        assert count(c) == 2
        later(c, 1)
        Recording.objects.update(ended_at=None)
        monkeypatch.setattr(retention, "MOST_BYTES", 0)
        tidied(c)
        Recording.objects.update(ended_at=timezone.now())
        assert content(first) == ["mine\n", "1\n"]


class TestTheSweep:
    @pytest.fixture
    def forgotten(self, c):
        write(c, "1\n")
        Recording.objects.update(began_at=datetime(2020, 1, 1, tzinfo=UTC))
        retention.forget_old()
        return c

    def quiet(self):
        for packs in stores().glob("*/pack"):
            os.utime(packs, (0, 0))

    def test_what_no_row_names_goes_when_nobody_has_written_for_a_while(self, forgotten):
        retention.sweep()
        assert store_of(forgotten).generations(), "it may be in no row yet"
        self.quiet()
        retention.sweep()
        assert not store_of(forgotten).generations()
        retention.sweep()
        assert content(write(forgotten, "2\n")) == ["1\n", "2\n"]

    def test_who_records_without_writing_is_somebody_too(self, forgotten):
        self.quiet()
        with store_of(forgotten) as store, store.locked():
            pass
        retention.sweep()
        assert store_of(forgotten).generations()

    def test_who_writes_just_before_it_has_the_lock_is_seen(self, forgotten, monkeypatch):
        """It stands in no row yet when those that are kept are read."""
        written = []

        def locked(self, root=None):
            if not written:
                with Store(self.path) as other, real(other):
                    written.append(other.add_blob(b"a list of changes"))
                    other.flush()
            return real(self, root)

        self.quiet()
        real = Store.locked
        monkeypatch.setattr(Store, "locked", locked)
        retention.sweep()
        with store_of(forgotten) as store:
            assert store.holds(written[0])

    def test_one_store_that_cannot_be_looked_after_keeps_no_other(self, forgotten):
        broken = stores() / ("0" * 24)
        (broken / "pack").mkdir(parents=True)
        (broken / "root").write_text("")  # cut off by a kill
        self.quiet()
        retention.sweep()
        assert not store_of(forgotten).generations()
        assert (broken / "pack").is_dir()

    def test_while_the_database_is_away_nothing_goes(self, forgotten, monkeypatch):
        def away(*_):
            raise OperationalError("the server closed the connection")

        self.quiet()
        monkeypatch.setattr(retention, "rows_before", away)
        with pytest.raises(OperationalError):
            retention.sweep()
        assert store_of(forgotten).generations()
