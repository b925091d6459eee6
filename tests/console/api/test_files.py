"""The files of an agent over HTTP: listed, read, taken in, renamed, deleted and brought back."""

import asyncio
import contextlib
import errno
import io
import os
import threading
import time
import zipfile
from pathlib import Path

import pytest

from tests.console.api.conftest import person
from tests.inner import Pieces, Workspace, change_agent, deleted_files

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
    Workspace(folder).write("a.txt", b"whole")
    assert inside(folder) == ["a.txt"]


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
    record = home / "deleted-files" / "alice-writer" / gone / "record.json"
    yesterday = time.time() - deleted_files.RESTORABLE - 1
    os.utime(record, (yesterday, yesterday))
    assert alice.post(f"{BASE}/restore", {"deleted": gone}).status_code == 404
    deleted_files.erase_old()
    assert inside(home / "deleted-files" / "alice-writer") == []


def test_what_cannot_be_erased_is_not_in_the_way_of_what_can(alice, folder, home, monkeypatch):
    for name in "abc":
        (folder / name).touch()
        alice.delete(f"{BASE}?path={name}")
    monkeypatch.setattr(deleted_files, "RESTORABLE", -1)
    monkeypatch.setattr(deleted_files, "MOST_ERASED", 1)
    erase, stays = deleted_files.erase, None

    def erase_but_one(trash):
        nonlocal stays
        stays = stays or trash
        if trash == stays:
            raise PermissionError
        erase(trash)

    monkeypatch.setattr(deleted_files, "erase", erase_but_one)
    for _ in range(3):
        deleted_files.erase_old()
    assert inside(home / "deleted-files" / "alice-writer") == [stays.name]


def across_disks(monkeypatch, meanwhile=lambda: None):
    """From now on the home and the workspace are on two disks; `meanwhile` happens when all has
    been copied and nothing removed."""
    rename = os.rename

    def across(old, new, **handles):
        if old == deleted_files.UNFINISHED_ITEM:
            meanwhile()
        if ("dst_dir_fd" in handles) != ("src_dir_fd" in handles):
            raise OSError(18, "Invalid cross-device link")
        rename(old, new, **handles)

    monkeypatch.setattr(os, "rename", across)
    monkeypatch.setattr(os, "replace", across)


def test_a_file_on_another_disk_is_copied_whole_before_it_goes(alice, folder, monkeypatch):
    (folder / "docs").mkdir()
    (folder / "docs" / "a.txt").write_text("a")
    (folder / "docs" / "link").symlink_to("a.txt")
    os.mkfifo(folder / "docs" / "pipe")
    across_disks(monkeypatch)
    gone = alice.delete(f"{BASE}?path=docs").json()["deleted"]
    assert inside(folder) == []
    back = alice.post(f"{BASE}/restore", {"deleted": gone})
    assert back.status_code == 200
    assert (folder / "docs/a.txt").read_text() == "a"
    assert (folder / "docs/link").readlink() == Path("a.txt")
    monkeypatch.setattr(deleted_files, "MOST_COPIED", 0)
    assert alice.delete(f"{BASE}?path=docs/a.txt").status_code == 409
    assert (folder / "docs/a.txt").read_text() == "a"


def test_what_is_written_while_a_folder_is_copied_from_another_disk_stays(
    alice, folder, monkeypatch
):
    inner = folder / "docs" / "in"
    inner.mkdir(parents=True)
    for path in (folder / "docs" / "a.txt", inner / "b.txt", inner / "c.txt"):
        path.write_text(path.name)
    inner.chmod(0o750)

    def meanwhile():
        (inner / "new.txt").write_text("new")
        (folder / "docs" / "a.txt").write_text("written over")
        (inner / "c.txt").unlink()
        (inner / "c.txt").symlink_to("new.txt")

    across_disks(monkeypatch, meanwhile)
    gone = alice.delete(f"{BASE}?path=docs").json()["deleted"]
    assert (folder / "docs/a.txt").read_text() == "written over"
    assert inside(inner) == ["c.txt", "new.txt"]
    assert inner.stat().st_mode & 0o777 == 0o750
    back = alice.post(f"{BASE}/restore", {"deleted": gone})
    assert back.json()["path"] == "docs-2"
    assert (folder / "docs-2/a.txt").read_text() == "a.txt"
    assert inside(folder / "docs-2/in") == ["b.txt", "c.txt"]


def test_a_file_that_is_written_while_it_is_copied_from_another_disk_is_not_deleted(
    alice, folder, home, monkeypatch
):
    (folder / "a.txt").write_text("a")
    across_disks(monkeypatch, lambda: (folder / "a.txt").write_text("written over"))
    refused = alice.delete(f"{BASE}?path=a.txt")
    assert refused.status_code == 409
    assert (folder / "a.txt").read_text() == "written over"
    assert inside(home / "deleted-files" / "alice-writer") == []


@pytest.mark.parametrize(("left", "status"), [("most", 409), ("disk", 507)])
def test_what_cannot_be_brought_back_from_another_disk_leaves_nothing_behind(
    alice, folder, home, monkeypatch, left, status
):
    (folder / "docs" / "in").mkdir(parents=True)
    (folder / "docs" / "a.txt").write_text("a" * 20)
    (folder / "docs" / "in" / "b.txt").write_text("b")
    gone = alice.delete(f"{BASE}?path=docs").json()["deleted"]
    across_disks(monkeypatch)
    with monkeypatch.context() as full:
        if left == "most":
            full.setattr(deleted_files, "MOST_COPIED", 20)
        else:
            full.setattr(os, "fsync", no_room)
        refused = alice.post(f"{BASE}/restore", {"deleted": gone})
    assert refused.status_code == status
    assert inside(folder) == []
    assert alice.post(f"{BASE}/restore", {"deleted": gone}).json()["path"] == "docs"
    assert (folder / "docs/a.txt").read_text() == "a" * 20
    assert (folder / "docs/in/b.txt").read_text() == "b"


def no_room(handle):
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
