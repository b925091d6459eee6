"""A home that lies at another path than it did, from a backup or on another machine: what was
recorded in it, and deleted, is shown, undone and restored there."""

import hashlib
import json
import shutil
from importlib import import_module

import pytest
from django.apps import apps
from django.db import connection
from django.utils import timezone

from agents.models import Recording, Trashed, Undo
from plans import actions
from tests.fake_model import call, say
from tests.inner import AgentFiles, Scope, Store, retention, stores, trash
from tests.world import conversation, drive, files_of, scripted, tell

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def chat(home):
    """A turn changed a file, another was undone, and a third file was deleted."""
    scripted(call("write_file", path="a.txt", content="its\n"), say("ok"), say("ok"))
    chat = conversation(plan={"enabled": False})
    (files_of(chat) / "b.txt").write_text("b")
    tell(chat, "write")
    drive()
    trash.delete(AgentFiles.of(chat), "b.txt")
    return chat


@pytest.fixture
def moved(chat, home, settings):
    settings.PLANSIDE_HOME = home.with_name("restored")
    home.rename(settings.PLANSIDE_HOME)
    return settings.PLANSIDE_HOME


def as_before(home, now):
    """Rows and stores of a home, which lies here `now`, from when folders were whole paths."""
    for model in (Recording, Undo, Trashed):
        with connection.cursor() as cursor:
            cursor.execute(
                f"UPDATE {model._meta.db_table} SET root = %s || '/' || root", [str(home)]
            )
    for root in now.glob("recordings/*/root"):
        folder = f"{home}/{json.loads(root.read_text())}"
        root.write_text(json.dumps(folder))
        root.parent.rename(root.parent.with_name(hashlib.sha256(folder.encode()).hexdigest()[:24]))


def upgrade(migration="0041_folders_are_relative_to_the_home"):
    with connection.schema_editor() as editor:
        import_module(f"agents.migrations.{migration}").fill(apps, editor)


def check(chat, home):
    root = home / "workspaces" / chat.agent_id / "files"
    recording = Recording.objects.get()
    assert recording.root == str(root)
    assert Store.of(root).folder.is_dir()
    row = actions.undo_changes(Scope(recording.turn), "alice")
    assert not (root / "a.txt").exists()
    actions.undo_changes(Scope(row), "alice")
    assert (root / "a.txt").read_text() == "its\n"
    key = Trashed.objects.get().key
    assert trash.restore(AgentFiles.of(chat), key) == ("b.txt", None)
    for name in stores().glob("*/root"):
        with Store(name.parent) as store, store.locked():
            retention.tidy(store)
    actions.undo_changes(Scope(Undo.objects.latest("pk")), "alice")
    assert not (root / "a.txt").exists()


def test_all_of_it_comes_back_where_the_home_lies_now(chat, moved):
    check(chat, moved)


def test_an_old_home_is_as_it_was(chat, home):
    as_before(home, home)
    upgrade()
    upgrade()
    check(chat, home)


def test_an_old_home_that_was_moved_before_is_repaired(chat, home, moved):
    as_before(home, moved)
    upgrade()
    check(chat, moved)


def test_what_was_recorded_before_and_after_a_move_is_one_store_again(chat, home):
    as_before(home, home)
    (store,) = stores().iterdir()
    twin = store.with_name("0" * 24)
    shutil.copytree(store, twin)
    for pack in list((store / "pack").iterdir()):
        pack.unlink()
    earlier = f"/elsewhere/workspaces/{chat.agent_id}/files"
    (twin / "root").write_text(json.dumps(earlier))
    Undo.objects.create(conversation=chat, root=earlier, finished_at=timezone.now())
    upgrade()
    check(chat, home)


def test_what_was_deleted_before_there_were_rows_is_restored(chat, home):
    """Each lay in a folder of its own, with a record; one was cut off, and one is somebody's who is gone."""
    (row,) = Trashed.objects.all()
    facts = {"agent": chat.agent_id, "path": "b.txt", "is_folder": False, "was_replaced": False}
    facts |= {
        "key": row.key,
        "person": row.person_id,
        "root": f"/old/workspaces/{chat.agent_id}/files",
    }
    kept = home / "deleted-files" / chat.agent_id / row.key
    for name, record in (
        (row.key, facts),
        ("0" * 16, None),
        ("1" * 16, {**facts, "person": 10_000}),
    ):
        folder = kept.with_name(name)
        folder.mkdir(exist_ok=True)
        (folder / "record.json").write_text(json.dumps(record)[: None if record else 3])
    row.delete()
    upgrade("0040_deleted_files_have_rows")
    upgrade()
    assert trash.restore(AgentFiles.of(chat), facts["key"]) == ("b.txt", None)
    assert not kept.exists() and not Trashed.objects.exists()
