"""Hostile workspaces: nothing outside is read, written, moved or deleted, and nothing hangs."""

import errno
import io
import os
import stat
import threading
import zipfile
from copy import copy

import pytest
from django.utils import timezone

from agents.db import in_db
from agents.errors import Forbidden, Invalid, NotFound, Refused
from agents.models import Trashed
from tests.inner import (
    AgentFiles,
    Workspace,
    file_response,
    moment_of,
    opened_folder,
    pdf_response,
    put_back_orphans,
    store,
    trash,
    workspace_files,
    zip_response,
)
from tests.world import conversation, eventually, files_of, happening

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("own_home")]

PART = ".0123456789abcdef.part"
OUTSIDE = ["../agent.json", "docs/../../agent.json", "/etc/passwd", "out", "out/secret", "a\0b", ""]


@pytest.fixture
def chat():
    return conversation()


@pytest.fixture
def place(chat):
    return AgentFiles(chat.agent_id, chat.owner_id)


@pytest.fixture
def folder(chat, own_home):
    folder = files_of(chat)
    (own_home / "private").mkdir()
    (own_home / "private" / "secret").write_text("secret")
    (folder / "docs").mkdir()
    (folder / "docs" / "a.txt").write_text("a")
    (folder / "out").symlink_to(own_home / "private")
    return folder


def inside(folder):
    return sorted(each.name for each in folder.iterdir())


def tries(place, path):
    """Everything that takes a path; without one the workspace itself is meant, where that may be."""
    tried = [
        lambda: file_response(place, path),
        lambda: pdf_response(place, path),
        lambda: place.rename(path, "docs/b.txt"),
        lambda: trash.delete(place, path),
    ]
    if path:
        tried += [
            lambda: zip_response(place, path),
            lambda: store(place, path, "new.txt", [b"x"]),
            lambda: place.rename("docs/a.txt", f"{path}/b.txt"),
        ]
    return tried


@pytest.mark.parametrize("path", [each for each in OUTSIDE if each != "out"])
def test_nothing_outside_is_reached(place, folder, own_home, path):
    for each in tries(place, path):
        with pytest.raises(Refused):
            each()
    assert inside(own_home / "private") == ["secret"]
    assert (folder.parent / "agent.json").exists()
    assert (folder / "docs" / "a.txt").read_text() == "a"


def test_a_link_that_leads_out_is_not_followed_and_goes_alone(place, folder, own_home):
    with pytest.raises(Refused):
        file_response(place, "out")
    with pytest.raises(Refused):
        zip_response(place, "out")
    trash.delete(place, "out")
    assert not (folder / "out").is_symlink()
    assert (own_home / "private" / "secret").read_text() == "secret"
    assert [item.name for item in place.items(".").items] == ["docs"]


@pytest.mark.parametrize("verb", ["rename", "delete", "take_in", "restore"])
def test_a_link_that_is_swapped_in_between_check_and_use_leads_nowhere(
    place, folder, own_home, verb, monkeypatch
):
    """The folder is exchanged for a link when the path has been checked."""
    gone = trash.delete(place, "docs/a.txt").key if verb == "restore" else ""
    locate = AgentFiles.locate
    swapped = []

    def then_swap(self, path):
        parts = locate(self, path)
        if "docs" in parts and not swapped:
            swapped.append(1)
            (folder / "docs").rename(folder / "elsewhere")
            (folder / "docs").symlink_to(own_home / "private")
        return parts

    if verb == "restore":
        (folder / "docs").rename(folder / "elsewhere")
        (folder / "docs").symlink_to(own_home / "private")
    else:
        monkeypatch.setattr(AgentFiles, "locate", then_swap)
    acts = {
        "rename": lambda: place.rename("docs/a.txt", "docs/b.txt"),
        "delete": lambda: trash.delete(place, "docs/secret"),
        "take_in": lambda: store(place, "docs", "new.txt", [b"x"], "keep_both"),
        "restore": lambda: trash.restore(place, gone),
    }
    with pytest.raises(Refused):
        acts[verb]()
    assert inside(own_home / "private") == ["secret"]


def test_pipes_and_devices_are_seen_and_never_opened(place, folder):
    os.mkfifo(folder / "pipe")
    done = []
    waiting = threading.Thread(target=lambda: done.append(refused(place, "pipe")))
    waiting.start()
    waiting.join(5)
    assert done == [True]
    kinds = {item.name: item.kind for item in place.items(".").items}
    assert kinds == {"docs": "folder", "out": "link", "pipe": "other"}
    trash.delete(place, "pipe")


def refused(place, path):
    for act in (file_response, pdf_response):
        with pytest.raises(Refused):
            act(place, path)
    return True


def test_a_second_name_of_a_file_of_the_home_is_not_read(place, folder, own_home):
    os.link(own_home / "private" / "secret", folder / "twin")
    with pytest.raises(Refused):
        file_response(place, "twin")
    assert b"secret" not in b"".join(zip_response(place).streaming_content)


def test_names_that_are_no_text_are_seen_and_not_used(place, folder):
    (folder / os.fsdecode(b"\xff.txt")).touch()
    odd = [item for item in place.items(".").items if not item.is_usable]
    assert [item.name for item in odd] == ["?.txt"]
    assert b"?.txt" in b"".join(zip_response(place).streaming_content)


def test_a_name_is_made_without_what_nobody_sees(place, folder):
    path, _ = store(place, "", "gpj\u202e\x07.exe", [b"x"])
    assert path == "gpj.exe"
    assert place.rename("gpj.exe", "a\u200bb.txt") == "ab.txt"


def test_nobody_brings_back_what_somebody_else_deleted(place, folder):
    key = trash.delete(place, "docs/a.txt").key
    other = copy(place)
    other.person += 1
    for where, wanted in ((other, key), (place, "../../private"), (place, "0" * 16)):
        with pytest.raises(Refused):
            trash.restore(where, wanted)
    assert trash.restore(place, key) == ("docs/a.txt", None)


def test_what_is_no_pdf_is_not_shown_as_one(place, folder):
    (folder / "page.pdf").write_text("<script>alert(1)</script>")
    with pytest.raises(Refused):
        pdf_response(place, "page.pdf")
    (folder / "real.pdf").write_bytes(b"%PDF-1.4\n<script>alert(1)</script>")
    answer = pdf_response(place, "real.pdf")
    answer.close()
    assert answer.headers["Content-Type"] == "application/pdf"
    policy = answer.headers["Content-Security-Policy"]
    assert "default-src 'none'" in policy and "script-src" not in policy


def test_what_is_kept_of_deleted_files_is_for_the_home_s_user_alone(place, folder, own_home):
    trash.delete(place, "docs/a.txt")
    top = own_home / "deleted-files"
    kept = [top, *top.rglob("*")]
    assert not any(stat.S_IMODE(each.stat().st_mode) & 0o077 for each in kept if each.is_dir())


def test_a_search_ends_in_time_among_folders_without_a_file(place, folder, monkeypatch):
    for name in "abcdefgh":
        (folder / "empty" / name).mkdir(parents=True)
    now = iter(range(1_000))
    monkeypatch.setattr("time.monotonic", lambda: next(now))
    monkeypatch.setattr(workspace_files, "FIND_SECONDS", 16)
    found = place.find("nothing")
    assert (found.items, found.is_cut) == ([], True)
    assert next(now) < 25


@pytest.fixture
def deep_home(own_home):
    """A home that is emptied also when its test fails: pytest's own clean-up, which calls itself
    for each folder, could not."""
    yield own_home
    for each in own_home.iterdir():
        if each.is_dir() and not each.is_symlink():
            with opened_folder(own_home, ()) as above:
                trash.remove(above, each.name)


def deep(place, name, depth=1_500):
    """A file below more folders than Python calls functions in each other."""
    store(place, "/".join([name] * depth), "a.txt", [b"a"])


def test_folders_as_deep_as_can_be_are_deleted_brought_back_and_erased(
    place, folder, deep_home, monkeypatch
):
    deep(place, "d")
    key = trash.delete(place, "d").key
    assert trash.restore(place, key) == ("d", None)
    trash.delete(place, "d")
    age_all()
    trash.sweep()
    assert not list((deep_home / "deleted-files" / place.agent).iterdir())


def test_what_nobody_may_open_is_erased_like_the_rest(place, folder, own_home, monkeypatch):
    (folder / "docs" / "locked" / "in").mkdir(parents=True)
    (folder / "docs" / "locked").chmod(0)
    (folder / "docs" / "out").symlink_to(own_home / "private")
    trash.delete(place, "docs")
    age_all()
    trash.sweep()
    assert not list((own_home / "deleted-files" / place.agent).iterdir())
    assert (own_home / "private" / "secret").read_text() == "secret"


def age_all():
    Trashed.objects.update(at=timezone.now() - trash.RESTORABLE)


@pytest.fixture
def yesterdays(place, folder, own_home):
    """What lies there for more than a day."""
    key = trash.delete(place, "docs").key
    age_all()
    (folder / "b.txt").write_text("b")
    return own_home / "deleted-files" / place.agent / key


def test_nobody_waits_until_what_is_old_is_erased(place, folder, yesterdays):
    """It may be a hundred thousand files: a person would, or the database's thread."""
    trash.delete(place, "b.txt")
    (folder / "c.txt").write_text("c")
    store(place, "", "c.txt", [b"another"], "replace")
    put_back_orphans(all_of_them=True)
    assert (yesterdays / "item" / "a.txt").exists()


def test_it_is_erased_beside_the_queue_on_a_thread_of_its_own(yesterdays, monkeypatch):
    threads = []

    def removed(above, name):
        threads.append(threading.current_thread())
        remove(above, name)

    remove = trash.remove
    monkeypatch.setattr(trash, "remove", removed)

    async def story(worker):
        await eventually(lambda: not yesterdays.exists())
        assert await in_db(threading.current_thread) not in threads

    happening(story)
    assert threads


def test_no_time_of_a_file_breaks_a_list_or_a_zip(place, folder):
    for name, when in (("late.txt", 2**33), ("early.txt", -(2**31))):
        (folder / name).write_text(name)
        os.utime(folder / name, (when, when))
    content = b"".join(zip_response(place).streaming_content)
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        assert archive.testzip() is None
        assert {"late.txt", "early.txt"} <= set(archive.namelist())
    assert [moment_of(when).year for when in (1e18, -1e18, float(2**33))] == [9999, 1, 2242]


def test_a_file_that_grows_as_fast_as_it_is_read_does_not_keep_a_zip_from_its_end(place, folder):
    (folder / "docs" / "log").write_bytes(os.urandom(200_000))
    content = b""
    for count, piece in enumerate(zip_response(place).streaming_content):
        assert count < 50
        content += piece
        with (folder / "docs" / "log").open("ab") as file:
            file.write(os.urandom(200_000))
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        assert archive.testzip() is None
        assert len(archive.read("docs/log")) <= 600_000


def test_no_name_in_a_zip_leads_out_of_the_folder_it_is_unpacked_in(place, folder):
    for name in ("..\\..\\autostart.bat", "C:\\x", "a\nb", "turned\u202etxt.exe"):
        (folder / name).write_text("x")
    content = b"".join(zip_response(place).streaming_content)
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        names = archive.namelist()
    assert not {sign for name in names for sign in "\\:\n\u202e" if sign in name}
    assert ".._.._autostart.bat" in names


def test_a_deep_folder_of_somebody_keeps_nobody_from_a_linked_folder(own_home, tmp_path_factory):
    """Whose files with several names are compared with those of the whole home."""
    deep = own_home / "workspaces" / "deep"
    deep.mkdir(parents=True)
    at = os.open(deep, os.O_RDONLY)
    for _ in range(1_500):
        os.mkdir("d", dir_fd=at)
        below = os.open("d", os.O_RDONLY, dir_fd=at)
        os.close(at)
        at = below
    os.close(at)
    linked = tmp_path_factory.mktemp("linked")
    (linked / "a.txt").write_text("a")
    os.link(linked / "a.txt", linked / "b.txt")
    assert Workspace(linked).read("a.txt", 10) == b"a"
    trash.remove(os.open(own_home / "workspaces", os.O_RDONLY), "deep")


@pytest.mark.parametrize("name", [".planside-trash", ".planside-trash\u200b", PART])
def test_nothing_gets_a_name_that_only_planside_gives(place, folder, name):
    path, _ = store(place, "", name, [b"x"])
    assert path == name[1:].rstrip("\u200b")
    assert place.rename("docs/a.txt", f"docs/{name}") == f"docs/{path}"
    for within in (f".{path}/x", f"docs/.{path}"):
        with pytest.raises(Refused):
            store(place, within, "b.txt", [b"x"])
    assert set(inside(folder)) == {"docs", "out", path}
    assert inside(folder / "docs") == [path]


@pytest.mark.parametrize("what", ["a file", "a link", "nothing"])
def test_what_lies_in_a_trash_that_is_no_folder_any_more_is_gone(place, folder, own_home, what):
    key = trash.delete(place, "docs/a.txt").key
    there = own_home / "deleted-files" / place.agent
    there.rename(own_home / "elsewhere")
    if what != "nothing":
        there.write_text("") if what == "a file" else there.symlink_to(own_home / "elsewhere")
    with pytest.raises(NotFound, match="more than a day ago, or is back"):
        trash.restore(place, key)
    Trashed.objects.update(at=timezone.now() - 2 * trash.RESTORABLE)
    trash.sweep()
    assert not Trashed.objects.exists()
    assert (own_home / "elsewhere" / key / "item").read_text() == "a"


def forbidden(*_):
    raise PermissionError(errno.EACCES, "Permission denied")


def test_a_trash_that_cannot_be_looked_into_loses_nothing(place, folder, monkeypatch):
    key = trash.delete(place, "docs/a.txt").key
    with monkeypatch.context() as locked:
        locked.setattr(
            trash, "status_in", lambda *_: (_ for _ in ()).throw(PermissionError(13, ""))
        )
        with pytest.raises(Forbidden, match="lacks the permission"):
            trash.restore(place, key)
    assert trash.restore(place, key)[0] == "docs/a.txt"


def test_no_link_in_the_place_of_a_half_written_file_gets_its_mode(place, folder, own_home):
    secret = own_home / "private" / "secret"
    secret.chmod(0o600)
    (folder / "docs" / "a.txt").chmod(0o666)

    def pieces():
        yield b"x"
        (part,) = (folder / "docs").glob(".*.part")
        part.unlink()
        part.symlink_to(secret)

    with pytest.raises(Refused):
        store(place, "docs", "a.txt", pieces(), "replace")
    assert stat.S_IMODE(secret.stat().st_mode) == 0o600
    assert (folder / "docs" / "a.txt").read_text() == "a"


def test_a_folder_that_is_moved_into_itself_stays_as_it_is(place, folder):
    for to in ("docs/docs", "docs/x"):
        with pytest.raises(Invalid, match="into itself"):
            place.rename("docs", to)
    assert inside(folder / "docs") == ["a.txt"]


def test_a_second_name_that_was_deleted_leaves_the_first_one_to_be_read(own_home, tmp_path_factory):
    linked = tmp_path_factory.mktemp("linked")
    (linked / "b.txt").write_text("b")
    (own_home / "deleted-files" / "agent").mkdir(parents=True)
    os.link(linked / "b.txt", own_home / "deleted-files" / "agent" / "item")
    assert Workspace(linked).read("b.txt", 10) == b"b"


@pytest.mark.parametrize("name", ["n" * 255, "é" * 127, "n" * 250 + ".txt"])
def test_a_name_as_long_as_can_be_comes_back_by_another_one(place, folder, name):
    (folder / name).write_text("old")
    key = trash.delete(place, name).key
    (folder / name).write_text("new")
    back, _ = trash.restore(place, key)
    assert (folder / back).read_text() == "old"
    assert (folder / name).read_text() == "new"


def test_what_may_only_be_read_is_not_said_to_be_gone(place, folder):
    (folder / "docs" / "a.txt").chmod(0o444)
    with pytest.raises(Forbidden, match="may only be read"):
        store(place, "docs", "a.txt", [b"x"], "replace")
