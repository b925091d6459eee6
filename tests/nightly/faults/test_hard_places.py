"""An agent's files where a disk, a mount or another program is in the way: each verb says so in one
sentence, and nothing is lost."""

import os
import subprocess
from contextlib import contextmanager
from urllib.parse import quote

import pytest

from agents.models import Trashed
from tests.console.api.conftest import person
from tests.inner import change_agent
from tests.nightly.faults.disks import small_disk

pytestmark = pytest.mark.django_db(transaction=True)
BASE = "/agents/alice-writer/files"
ODD_NAMES = [
    "файл.txt",
    "ملف",
    "文件.md",
    "a\nb",
    "a\rb",
    " ",
    "-rf",
    "*",
    "%2e%2e",
    "e\u0301",
    "😀",
]
ODD_NAMES += ["x" * 255, "é" * 127, "~", "con", "a\\b", "\u202egpj.exe"]


@pytest.fixture
def alice(home):
    return person("alice")


@pytest.fixture
def folder(alice, home, tmp_path):
    """A folder of the person's own, linked."""
    alice.user.is_superuser = True
    alice.user.save()
    folder = tmp_path / "project"
    folder.mkdir()
    change_agent("alice-writer", {"workspace": str(folder), "tools": {"write_file": "ask"}})
    return folder


@contextmanager
def mounted(*command):
    if subprocess.run(["mount", *command], capture_output=True).returncode:
        pytest.skip("only root may mount")
    try:
        yield
    finally:
        subprocess.run(["umount", "--lazy", command[-1]], check=True)


def put(api, path, data=b"new", **query):
    more = "".join(f"&{name}={value}" for name, value in query.items())
    url = f"/api{BASE}/content?path={path}{more}"
    return api.client.put(url, data, content_type="application/octet-stream")


def answers(alice, path, other):
    """What each verb says of a file, one after the other."""
    gone = alice.delete(f"{BASE}?path={path}")
    key = gone.json().get("deleted", "0" * 16)
    return {
        "delete": gone,
        "restore": alice.post(f"{BASE}/restore", {"deleted": key}),
        "replace": put(alice, path, if_taken="replace"),
        "keep both": put(alice, path, if_taken="keep_both"),
        "rename": alice.post(f"{BASE}/rename", {"path": path, "to": other}),
        "list": alice.get(BASE),
    }


def said(found):
    return {verb: (each.status_code, each.json().get("detail", "")) for verb, each in found.items()}


def contents(folder):
    paths = (each for each in folder.rglob("*") if each.is_file())
    return {str(each.relative_to(folder)): each.read_bytes() for each in paths}


GONE = "cannot be used: it is gone, or not to be opened here."
ELSEWHERE = "lies on another disk, so it cannot be moved from here."


def refusals(found):
    return {verb: answer for verb, answer in said(found).items() if answer[0] >= 400}


def test_on_a_read_only_mount_nothing_is_changed(alice, folder):
    (folder / "a.txt").write_text("old")
    with mounted("--bind", "-o", "ro", str(folder), str(folder)):
        found = refusals(answers(alice, "a.txt", "b.txt"))
    only_read = (403, "a.txt cannot be changed: its disk, or the file, may only be read.")
    assert found.pop("restore")[0] == 404
    assert found == dict.fromkeys(("delete", "replace", "keep both", "rename"), only_read)
    assert contents(folder) == {"a.txt": b"old"}
    assert not Trashed.objects.exists()


def test_what_lies_on_a_mount_within_is_not_moved_out_of_it(alice, folder, tmp_path):
    """On the same disk, too: no file is moved from one mount to another."""
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "a.txt").write_text("old")
    (folder / "inner").mkdir()
    with mounted("--bind", str(tmp_path / "other"), str(folder / "inner")):
        found = refusals(answers(alice, "inner/a.txt", "b.txt"))
        whole = alice.delete(f"{BASE}?path=inner")
        assert contents(folder) == {"inner/a.txt": b"old", "inner/a-2.txt": b"new"}
    assert found.pop("restore")[0] == 404
    sentence = (409, f"inner/a.txt {ELSEWHERE}")
    assert found == dict.fromkeys(("delete", "replace", "rename"), sentence)
    assert (whole.status_code, whole.json()["detail"]) == (409, f"inner {ELSEWHERE}")
    assert not Trashed.objects.exists()
    assert not [each for each in folder.iterdir() if each.name != "inner"]


@pytest.mark.parametrize("room", [0, 2, 5, 30])
def test_a_disk_that_is_full_at_some_write_loses_nothing(alice, home, folder, room):
    """With so many kilobytes left, of a workspace on a small disk of its own."""
    with small_disk(folder / "disk") as disk:
        change_agent("alice-writer", {"workspace": str(disk.folder)})
        (disk.folder / "a.txt").write_bytes(b"old" * 3_000)
        disk.fill(leave=0)
        os.truncate(disk.filler, disk.filler.stat().st_size - room * 1_000)
        replaced = put(alice, "a.txt", b"new" * 6_000, if_taken="replace")
        gone = alice.delete(f"{BASE}?path=a.txt")
        for each in (replaced, gone):
            assert each.status_code in (200, 201, 507), each.content
        disk.make_room()
        found = [*contents(disk.folder).items()]
        kept = [each for name, each in found if not name.endswith(".gitignore")]
        assert b"old" * 3_000 in kept
        if replaced.status_code == 201:
            assert b"new" * 6_000 in kept
        for row in list(Trashed.objects.all()):
            assert row.state == "kept"
            assert alice.post(f"{BASE}/restore", {"deleted": row.key}).status_code == 200
        change_agent("alice-writer", {"workspace": str(folder)})


def test_a_workspace_that_vanishes_is_said_and_all_of_it_is_there_when_it_is_back(alice, folder):
    (folder / "a.txt").write_text("old")
    gone = alice.delete(f"{BASE}?path=a.txt").json()["deleted"]
    folder.rename(folder.with_name("elsewhere"))
    found = answers(alice, "a.txt", "b.txt")
    found["restore"] = alice.post(f"{BASE}/restore", {"deleted": gone})
    sentence = (422, f"workspace: {folder} is not a folder.")
    assert said(found) == dict.fromkeys(found, sentence)
    folder.with_name("elsewhere").rename(folder)
    assert alice.post(f"{BASE}/restore", {"deleted": gone}).status_code == 200
    assert contents(folder) == {"a.txt": b"old"}


def test_a_file_that_has_become_a_folder_is_not_replaced(alice, folder):
    (folder / "a.txt").write_text("old")
    replaced = put(alice, "a.txt", if_taken="replace").json()["replaced"]
    (folder / "a.txt").unlink()
    (folder / "a.txt").mkdir()
    refused = put(alice, "a.txt", if_taken="replace")
    assert (refused.status_code, refused.json()["detail"]) == (404, f"a.txt {GONE}")
    assert alice.post(f"{BASE}/restore", {"deleted": replaced}).json()["path"] == "a-2.txt"
    assert contents(folder) == {"a-2.txt": b"old"}


@pytest.mark.parametrize("name", ["twin.txt", "out", "pipe"])
def test_links_and_pipes_go_and_come_back_themselves(alice, folder, tmp_path, name):
    (tmp_path / "outside.txt").write_text("outside")
    (folder / "a.txt").write_text("old")
    os.link(folder / "a.txt", folder / "twin.txt")
    (folder / "out").symlink_to(tmp_path / "outside.txt")
    os.mkfifo(folder / "pipe")
    kind = (folder / name).lstat().st_mode
    found = refusals(answers(alice, name, f"{name}-3"))
    no_file = {} if name == "twin.txt" else {"replace": (404, f"{name} {GONE}")}
    assert found == no_file
    assert (folder / f"{name}-3").lstat().st_mode == kind
    assert (tmp_path / "outside.txt").read_text() == "outside"
    assert (folder / "a.txt").read_text() == "old"


@pytest.mark.parametrize("name", ODD_NAMES)
def test_files_of_names_in_any_script_go_and_come_back(alice, folder, name):
    (folder / name).write_text("old")
    (listed,) = [item["path"] for item in alice.get(BASE).json()["items"]]
    gone = alice.delete(f"{BASE}?path={quote(listed)}").json()
    assert (contents(folder), gone["path"]) == ({}, name)
    alice.post(f"{BASE}/restore", {"deleted": gone["deleted"]})
    assert contents(folder) == {name: b"old"}
    renamed = alice.post(f"{BASE}/rename", {"path": listed, "to": "b.txt"})
    assert renamed.status_code == 200 and contents(folder) == {"b.txt": b"old"}


def test_twenty_thousand_files_in_one_folder(alice, folder):
    (folder / "many").mkdir()
    for number in range(20_000):
        (folder / "many" / f"{number:05}.txt").touch()
    first = alice.get(f"{BASE}?path=many").json()
    assert (len(first["items"]), first["count"], first["more"]) == (500, 20_000, True)
    gone = alice.delete(f"{BASE}?path=many").json()["deleted"]
    assert contents(folder) == {}
    alice.post(f"{BASE}/restore", {"deleted": gone})
    assert len(list((folder / "many").iterdir())) == 20_000
