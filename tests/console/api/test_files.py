"""The files of an agent over HTTP: listed, read, taken in, renamed, deleted and brought back."""

import asyncio
import contextlib
import errno
import io
import os
import stat
import threading
import time
import zipfile
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from django.utils import timezone

from agents.models import Trashed
from tests.console.api.conftest import person
from tests.inner import Pieces, change_agent, trash, workspace_files

pytestmark = pytest.mark.django_db(transaction=True)
BASE = "/agents/alice-writer/files"


@pytest.fixture
def alice():
    return person("alice")


@pytest.fixture
def folder(alice, home):
    alice.get(BASE)
    return home / "workspaces" / "alice-writer" / "files"


def put(api, path, data=b"text", **query):
    more = "".join(f"&{name}={value}" for name, value in query.items())
    url = f"/api{BASE}/content?path={path}{more}"
    return api.client.put(url, data, content_type="application/octet-stream")


def names(answer):
    assert answer.status_code == 200, answer.content
    return [item["name"] for item in answer.json()["items"]]


def inside(folder):
    return sorted(each.name for each in folder.iterdir())


def body(answer):
    return b"".join(answer.streaming_content)


def test_a_folder_is_listed_folders_first_and_one_below_it_when_it_is_asked_for(alice, folder):
    (folder / "docs").mkdir()
    (folder / "docs" / "api.md").write_text("# API")
    (folder / "B.txt").write_text("b")
    (folder / "a.txt").write_text("a")
    (folder / "link").symlink_to("a.txt")
    found = alice.get(BASE).json()
    kinds = [(item["name"], item["kind"]) for item in found["items"]]
    assert kinds == [("docs", "folder"), ("a.txt", "file"), ("B.txt", "file"), ("link", "link")]
    assert (found["count"], found["more"], found["read_only"]) == (4, False, False)
    below = alice.get(f"{BASE}?path=docs").json()["items"]
    assert [(item["path"], item["size"]) for item in below] == [("docs/api.md", 5)]


def test_a_large_folder_comes_in_parts(alice, folder):
    for number in range(1_003):
        (folder / f"{number:04}.txt").touch()
    first = alice.get(BASE).json()
    assert (len(first["items"]), first["count"], first["more"]) == (500, 1_003, True)
    last = alice.get(f"{BASE}?start=1000").json()
    assert [item["name"] for item in last["items"]] == ["1000.txt", "1001.txt", "1002.txt"]
    assert last["more"] is False


def test_files_are_found_by_words_of_their_path(alice, folder):
    (folder / "docs" / "img").mkdir(parents=True)
    (folder / "docs" / "img" / "Flow.png").touch()
    (folder / "docs" / "api.md").touch()
    assert names(alice.get(f"{BASE}?q=docs+flow")) == ["Flow.png"]
    assert names(alice.get(f"{BASE}?q=docs")) == ["api.md", "Flow.png"]


def test_what_is_found_says_the_same_as_what_is_listed(alice, folder):
    (folder / "a.txt").write_text("a")
    os.utime(folder / "a.txt", (1_700_000_000,) * 2)
    listed = alice.get(BASE).json()["items"]
    assert listed[0]["modified_at"] == "2023-11-14T22:13:20Z"
    assert alice.get(f"{BASE}?q=a").json()["items"] == listed


@pytest.mark.parametrize("ending", ["part", "tmp"])
def test_half_of_a_file_that_a_kill_has_left_is_nobody_s_and_goes_with_time(alice, folder, ending):
    left = folder / f".0123456789abcdef.{ending}"
    left.write_text("half")
    assert names(alice.get(BASE)) == names(alice.get(f"{BASE}?q=0123")) == []
    os.utime(left, (time.time() - 7200,) * 2)
    workspace_files.remove_cut_off()
    assert inside(folder) == []


def test_a_file_is_always_given_out_to_be_saved(alice, folder):
    (folder / "page.html").write_text("<script>alert(1)</script>")
    answer = alice.get(f"{BASE}/content?path=page.html")
    assert body(answer) == b"<script>alert(1)</script>"
    assert answer.headers["Content-Type"] == "application/octet-stream"
    assert answer.headers["Content-Disposition"] == 'attachment; filename="page.html"'
    assert answer.headers["X-Content-Type-Options"] == "nosniff"
    assert "sandbox" in answer.headers["Content-Security-Policy"]
    assert answer.headers["Content-Length"] == "25"


def test_an_upload_lands_whole_and_replaces_only_when_told_to(alice, folder):
    made = put(alice, "docs/new/api.md", b"one")
    assert (made.status_code, made.json()["path"]) == (201, "docs/new/api.md")
    again = put(alice, "docs/new/api.md", b"two")
    assert (again.status_code, again.json()["detail"]) == (409, "api.md is there already.")
    both = put(alice, "docs/new/api.md", b"two", if_taken="keep_both")
    assert both.json()["path"] == "docs/new/api-2.md"
    (folder / "docs/new/api.md").chmod(0o755)
    put(alice, "docs/new/api.md", b"three", if_taken="replace")
    assert (folder / "docs/new/api.md").read_bytes() == b"three"
    assert (folder / "docs/new/api.md").stat().st_mode & 0o777 == 0o755
    assert inside(folder / "docs/new") == ["api-2.md", "api.md"]


def test_what_was_replaced_and_what_replaced_it_take_turns(alice, folder):
    assert put(alice, "a.txt", b"one").json()["replaced"] == ""
    answer = put(alice, "a.txt", b"two", if_taken="replace").json()
    for content in (b"one", b"two", b"one"):
        answer = alice.post(f"{BASE}/restore", {"deleted": answer["replaced"]}).json()
        assert answer["path"] == "a.txt"
        assert (folder / "a.txt").read_bytes() == content
    assert inside(folder) == ["a.txt"]


def test_an_empty_file_and_a_hidden_one_are_files_like_others(alice, folder):
    assert put(alice, ".env", b"").status_code == 201
    assert (folder / ".env").read_bytes() == b""


def test_more_than_20_mb_are_refused(alice, folder):
    answer = put(alice, "large.bin", b"x" * 20_000_001)
    assert (answer.status_code, answer.json()["detail"]) == (413, "A file may have 20 MB at most.")
    assert inside(folder) == []


def test_a_file_is_renamed_and_moved_but_never_over_another(alice, folder):
    (folder / "docs").mkdir()
    (folder / "a.txt").write_text("a")
    (folder / "b.txt").write_text("b")
    moved = alice.post(f"{BASE}/rename", {"path": "a.txt", "to": "docs/c.txt"})
    assert (moved.status_code, moved.json()["path"]) == (200, "docs/c.txt")
    taken = alice.post(f"{BASE}/rename", {"path": "b.txt", "to": "docs/c.txt"})
    assert (taken.status_code, taken.json()["detail"]) == (409, "c.txt is there already.")
    assert (folder / "docs/c.txt").read_text() == "a"
    folders = alice.post(f"{BASE}/rename", {"path": "docs", "to": "pages"})
    assert folders.status_code == 200 and (folder / "pages/c.txt").exists()
    assert alice.post(f"{BASE}/rename", {"path": "b.txt", "to": "none/b"}).status_code == 404
    assert alice.post(f"{BASE}/rename", {"path": "b.txt", "to": " "}).status_code == 422


def test_a_link_is_renamed_and_deleted_itself_and_what_it_leads_to_stays(alice, folder):
    (folder / "a.txt").write_text("a")
    (folder / "link").symlink_to("a.txt")
    alice.post(f"{BASE}/rename", {"path": "link", "to": "other"})
    assert (folder / "other").is_symlink()
    assert alice.delete(f"{BASE}?path=other").status_code == 200
    assert inside(folder) == ["a.txt"]


@pytest.mark.parametrize("path", ["a.txt", "docs"])
def test_what_is_deleted_comes_back_as_it_was(alice, folder, path):
    (folder / "docs" / "deep").mkdir(parents=True)
    (folder / "docs" / "deep" / "b.sh").write_text("b")
    (folder / "docs" / "deep" / "b.sh").chmod(0o755)
    (folder / "a.txt").write_text("a")
    gone = alice.delete(f"{BASE}?path={path}").json()
    assert gone["path"] == path and not (folder / path).exists()
    back = alice.post(f"{BASE}/restore", {"deleted": gone["deleted"]})
    assert back.json()["path"] == path
    assert (folder / "a.txt").read_text() == "a"
    assert (folder / "docs/deep/b.sh").stat().st_mode & 0o777 == 0o755
    assert alice.post(f"{BASE}/restore", {"deleted": gone["deleted"]}).status_code == 404


def test_it_comes_back_beside_what_has_its_name_and_with_its_folder(alice, folder):
    (folder / "docs").mkdir()
    (folder / "docs" / "a.txt").write_text("first")
    one = alice.delete(f"{BASE}?path=docs/a.txt").json()["deleted"]
    (folder / "docs" / "a.txt").write_text("second")
    back = alice.post(f"{BASE}/restore", {"deleted": one})
    assert back.json()["path"] == "docs/a-2.txt"
    two = alice.delete(f"{BASE}?path=docs/a.txt").json()["deleted"]
    alice.delete(f"{BASE}?path=docs")
    alice.post(f"{BASE}/restore", {"deleted": two})
    assert (folder / "docs/a.txt").read_text() == "second"


def test_it_is_erased_after_a_day(alice, folder, home):
    (folder / "a.txt").touch()
    gone = alice.delete(f"{BASE}?path=a.txt").json()["deleted"]
    Trashed.objects.update(at=timezone.now() - trash.RESTORABLE)
    assert alice.post(f"{BASE}/restore", {"deleted": gone}).status_code == 404
    trash.sweep()
    assert inside(home / "deleted-files" / "alice-writer") == []
    assert not Trashed.objects.exists()


def test_what_cannot_be_erased_is_not_in_the_way_of_what_can(alice, folder, home, monkeypatch):
    for name in "abc":
        (folder / name).touch()
        alice.delete(f"{BASE}?path={name}")
    Trashed.objects.update(at=timezone.now() - trash.RESTORABLE)
    monkeypatch.setattr(trash, "MOST_ERASED", 1)
    remove, stays = trash.remove, []

    def remove_but_one(above, name):
        stays[:] = stays or [name]
        if name in stays:
            raise PermissionError
        remove(above, name)

    monkeypatch.setattr(trash, "remove", remove_but_one)
    for _ in range(3):
        trash.sweep()
    assert inside(home / "deleted-files" / "alice-writer") == stays


def test_what_no_row_names_any_more_is_erased_after_a_day(alice, folder, home):
    (folder / "a.txt").touch()
    alice.delete(f"{BASE}?path=a.txt")
    Trashed.objects.all().delete()
    trash.sweep()
    (left,) = (home / "deleted-files" / "alice-writer").iterdir()
    os.utime(left, (0, 0))
    trash.sweep()
    assert not left.exists()


@pytest.fixture
def elsewhere(alice, home):
    """The agent works in a folder that is on another disk than the home."""
    shared = Path("/dev/shm")
    if not shared.is_dir() or shared.stat().st_dev == home.stat().st_dev:
        pytest.skip("there is no other disk here")
    alice.user.is_superuser = True
    alice.user.save()
    with TemporaryDirectory(dir=shared) as linked:
        change_agent("alice-writer", {"workspace": linked, "tools": {"write_file": "ask"}})
        yield Path(linked)


def test_on_another_disk_it_lies_in_a_hidden_folder_of_the_workspace(alice, elsewhere, home):
    (elsewhere / "docs").mkdir()
    (elsewhere / "docs" / "link").symlink_to("a.txt")
    os.mkfifo(elsewhere / "docs" / "pipe")
    (elsewhere / "docs" / "a.txt").write_text("a")
    (elsewhere / "b.txt").write_text("one")
    gone = alice.delete(f"{BASE}?path=docs").json()["deleted"]
    replaced = put(alice, "b.txt", b"two", if_taken="replace").json()["replaced"]
    assert names(alice.get(BASE)) == ["b.txt"]
    assert (elsewhere / ".planside-trash" / ".gitignore").read_text() == "*\n"
    assert stat.S_IMODE((elsewhere / ".planside-trash").stat().st_mode) == 0o700
    for path in (".planside-trash", f".planside-trash/{gone}/item/a.txt"):
        assert alice.get(f"{BASE}/content?path={path}").status_code == 404
        assert alice.delete(f"{BASE}?path={path}").status_code in (404, 422)
    assert alice.post(f"{BASE}/restore", {"deleted": gone}).status_code == 200
    assert inside(elsewhere / "docs") == ["a.txt", "link", "pipe"]
    alice.post(f"{BASE}/restore", {"deleted": replaced})
    assert (elsewhere / "b.txt").read_text() == "one"
    Trashed.objects.update(at=timezone.now() - trash.RESTORABLE)
    trash.sweep()
    assert inside(elsewhere) == ["b.txt", "docs"]


@pytest.mark.parametrize(
    ("mount_point", "sentence"),
    [
        ("empty", "The disk that it was deleted on is not mounted now."),
        ("gone", "is not a folder."),
    ],
)
def test_what_was_deleted_on_a_disk_that_is_unmounted_waits_for_it(
    alice, elsewhere, mount_point, sentence
):
    (elsewhere / "a.txt").write_text("a")
    gone = alice.delete(f"{BASE}?path=a.txt").json()["deleted"]
    unmounted = elsewhere.rename(f"{elsewhere}-unmounted")
    if mount_point == "empty":
        elsewhere.mkdir()
    refused = alice.post(f"{BASE}/restore", {"deleted": gone})
    assert refused.status_code in (409, 422) and sentence in refused.json()["detail"]
    Trashed.objects.update(state=Trashed.State.MOVING, at=timezone.now() - trash.RESTORABLE)
    trash.sweep()
    Trashed.objects.update(at=timezone.now())
    unmounted.rename(elsewhere)
    assert alice.post(f"{BASE}/restore", {"deleted": gone}).status_code == 200
    assert (elsewhere / "a.txt").read_text() == "a"


def test_what_lies_on_a_disk_of_its_own_stays_there(alice, folder, home, monkeypatch):
    (folder / "mounted").mkdir()
    rename = os.rename

    def busy(old, new, **handles):
        if old == "mounted":
            raise OSError(errno.EXDEV, "Invalid cross-device link")
        rename(old, new, **handles)

    monkeypatch.setattr(os, "rename", busy)
    refused = alice.delete(f"{BASE}?path=mounted")
    assert (refused.status_code, refused.json()["detail"]) == (
        409,
        "mounted lies on another disk, so it cannot be moved from here.",
    )
    assert inside(folder) == ["mounted"]
    assert inside(home / "deleted-files" / "alice-writer") == [] and not Trashed.objects.exists()


@pytest.mark.parametrize("step", ["mkdir", "rename", "fsync"])
def test_what_is_not_replaced_for_a_full_disk_is_as_it_was(alice, folder, home, monkeypatch, step):
    put(alice, "a.txt", b"one")
    with monkeypatch.context() as full:
        full.setattr(trash.os, step, no_room)
        assert put(alice, "a.txt", b"two", if_taken="replace").status_code == 507
    assert (inside(folder), (folder / "a.txt").read_text()) == (["a.txt"], "one")
    assert (folder / "a.txt").stat().st_nlink == 1
    assert not list(home.glob("deleted-files/*/*"))
    assert not Trashed.objects.exists()


@pytest.mark.parametrize("step", ["mkdir", "rename"])
def test_what_is_not_deleted_for_a_full_disk_is_as_it_was(alice, folder, monkeypatch, step):
    put(alice, "a.txt", b"one")
    with monkeypatch.context() as full:
        full.setattr(trash.os, step, no_room)
        assert alice.delete(f"{BASE}?path=a.txt").status_code == 507
    assert (folder / "a.txt").read_text() == "one"
    assert not Trashed.objects.exists()


def test_a_disk_where_files_cannot_change_places_replaces_by_moving(alice, folder, monkeypatch):
    put(alice, "a.txt", b"one")
    monkeypatch.setattr(trash, "exchange", lambda *_: False)
    replaced = put(alice, "a.txt", b"two", if_taken="replace").json()["replaced"]
    assert (folder / "a.txt").read_text() == "two"
    with monkeypatch.context() as full:
        full.setattr(trash, "move", fails_once(trash.move))
        assert put(alice, "a.txt", b"three", if_taken="replace").status_code == 507
    assert (folder / "a.txt").read_text() == "two"
    with monkeypatch.context() as full:
        full.setattr(trash, "move", fails_once(trash.move))
        assert alice.post(f"{BASE}/restore", {"deleted": replaced}).status_code == 507
    assert (folder / "a.txt").read_text() == "two"
    again = alice.post(f"{BASE}/restore", {"deleted": replaced}).json()["replaced"]
    assert (folder / "a.txt").read_text() == "one"
    alice.post(f"{BASE}/restore", {"deleted": again})
    assert (folder / "a.txt").read_text() == "two"


def fails_once(move):
    failing = iter([True])
    return lambda *given: no_room() if next(failing, False) else move(*given)


def no_room(*_, **__):
    raise OSError(errno.ENOSPC, "No space left on device")


def test_all_of_it_is_a_zip(alice, folder):
    (folder / "docs").mkdir()
    (folder / "docs" / "a.txt").write_text("a" * 300_000)
    (folder / "node_modules").mkdir()
    (folder / "node_modules" / "left.js").touch()
    os.mkfifo(folder / "pipe")
    answer = alice.get(f"{BASE}/zip")
    assert 'filename="alice\'s writer.zip"' in answer.headers["Content-Disposition"]
    with zipfile.ZipFile(io.BytesIO(body(answer))) as archive:
        assert archive.testzip() is None
        assert archive.namelist() == ["docs/a.txt"]
        assert archive.read("docs/a.txt") == b"a" * 300_000
    one = alice.get(f"{BASE}/zip?path=docs")
    with zipfile.ZipFile(io.BytesIO(body(one))) as archive:
        assert archive.namelist() == ["a.txt"]


def test_a_file_is_no_folder_to_be_had_as_a_zip(alice, folder):
    (folder / "a.txt").write_text("a")
    answer = alice.get(f"{BASE}/zip?path=a.txt")
    assert (answer.status_code, answer.headers["Content-Type"]) == (404, "application/json")


def test_names_that_a_zip_makes_alike_stay_apart_in_it(alice, folder):
    for name in ("a\\b.txt", "a:b.txt", "a_b.txt", "a_b-2.txt", "one", "two\\in"):
        (folder / name).write_text(name)
    for name in ("d\\e", "d_e", "two_in", "one:"):
        (folder / name).mkdir()
        (folder / name / "x.txt").write_text(name)
    with zipfile.ZipFile(io.BytesIO(body(alice.get(f"{BASE}/zip")))) as archive:
        found = {name: archive.read(name).decode() for name in archive.namelist()}
    assert found == {
        "a_b-3.txt": "a:b.txt",
        "a_b-4.txt": "a\\b.txt",
        "a_b-2.txt": "a_b-2.txt",
        "a_b.txt": "a_b.txt",
        "one": "one",
        "two_in-2": "two\\in",
        "d_e-2/x.txt": "d\\e",
        "d_e/x.txt": "d_e",
        "one_/x.txt": "one:",
        "two_in/x.txt": "two_in",
    }


def test_the_zip_goes_out_piece_by_piece(alice, folder):
    (folder / "random.bin").write_bytes(os.urandom(5_000_000))
    pieces = list(alice.get(f"{BASE}/zip").streaming_content)
    assert len(pieces) > 20 and max(map(len, pieces)) < 500_000


@pytest.mark.parametrize("kind", ["zip", "content"])
async def test_a_client_that_leaves_while_a_piece_is_made_leaves_nothing_open(tmp_path, kind):
    """Whatever makes the piece then closes what it was made from."""
    started, go, closed = threading.Event(), threading.Event(), threading.Event()

    def pieces():
        try:
            started.set()
            go.wait(60)
            yield b"one" if kind == "zip" else file.read(3)
            yield b"two"
        finally:
            closed.set()

    (tmp_path / "a").write_text("one")
    response, file = Pieces(pieces(), 1), (tmp_path / "a").open("rb")
    response.file = file
    taking = asyncio.ensure_future(anext(response.__aiter__()))
    assert await asyncio.to_thread(started.wait, 60)
    taking.cancel()
    response.close()
    assert not file.closed, "a thread reads it"
    go.set()
    assert await asyncio.to_thread(closed.wait, 60)
    with contextlib.suppress(asyncio.CancelledError):
        await taking
    assert file.closed and response.closed


def test_a_linked_folder_is_read_only_where_the_tools_only_read(alice, home, tmp_path_factory):
    alice.user.is_superuser = True
    alice.user.save()
    linked = tmp_path_factory.mktemp("checkout")
    (linked / "a.txt").write_text("a")
    change_agent("alice-writer", {"workspace": str(linked)})
    assert alice.get(BASE).json()["read_only"] is True
    assert put(alice, "b.txt").status_code == 403
    assert alice.delete(f"{BASE}?path=a.txt").status_code == 403
    assert alice.post(f"{BASE}/rename", {"path": "a.txt", "to": "b"}).status_code == 403
    change_agent("alice-writer", {"tools": {"write_file": "ask"}})
    assert alice.get(BASE).json()["read_only"] is False
    assert put(alice, "b.txt").status_code == 201
    assert alice.delete(f"{BASE}?path=a.txt").status_code == 200
    assert inside(linked) == ["b.txt"]


def test_somebody_elses_agent_has_no_files(alice, folder):
    (folder / "a.txt").touch()
    gone = alice.delete(f"{BASE}?path=a.txt").json()["deleted"]
    bob = person("bob")
    for answer in (
        bob.get(BASE),
        bob.get(f"{BASE}/content?path=a.txt"),
        bob.get(f"{BASE}/zip"),
        bob.delete(f"{BASE}?path=a.txt"),
        bob.post(f"{BASE}/restore", {"deleted": gone}),
        bob.post(f"{BASE}/rename", {"path": "a.txt", "to": "b.txt"}),
        put(bob, "b.txt"),
    ):
        assert answer.status_code == 404, answer.content
