"""A name of a file is one component of a path: whatever is given as one, nothing outside
the workspace is written, replaced or read."""

import os
from functools import partial
from itertools import product
from urllib.parse import quote

import pytest

from agents.errors import Invalid
from tests.inner import AgentFiles, FileName, NotAName, Store, move_to_free, restore, store, trash
from tests.security.hostile_names import LEAD_ELSEWHERE, NOTHING_LEFT, ONE_COMPONENT
from tests.world import conversation, files_of, person, signed_in

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("own_home")]

TRASH = "deleted-files"


@pytest.fixture
def chat(settings):
    settings.UPLOADS_PER_MINUTE = 10_000
    return conversation()


@pytest.fixture
def place(chat):
    return AgentFiles(chat.agent_id, chat.owner_id)


@pytest.fixture
def folder(chat):
    """The workspace, with a folder in it, and a secret in each folder around it."""
    folder = files_of(chat)
    (folder / "sub").mkdir()
    for around in (folder.parent, folder.parent.parent):
        (around / "secret.txt").write_text("secret")
    return folder


def everything(home, but):
    """Each path of the home outside of this folder, with its content; database and trash aside."""
    paths = (each for each in home.rglob("*") if "sqlite3" not in each.name)
    own = (but, home / TRASH)
    outside = (each for each in paths if not any(map(each.is_relative_to, own)))
    return {each: each.read_bytes() if each.is_file() else None for each in outside}


def from_the_page(chat, name, **more):
    return post(chat, f"/c/{chat.pk}/workspace/upload?folder=&name={name}", **more)


def from_the_page_into_a_folder(chat, name, **more):
    return post(chat, f"/c/{chat.pk}/workspace/upload?folder=.&name={name}", **more)


def over_the_api(chat, name, **more):
    path = f"/api/agents/{chat.agent_id}/files/content?path=sub/{name}"
    return post(chat, path, method="put", **more)


def attached(chat, name, if_taken=""):
    return post(chat, f"/c/{chat.pk}/attachments?name={name}")


def post(chat, address, method="post", if_taken=""):
    client = signed_in(person("alice"))
    address += f"&if_taken={if_taken}" if if_taken else ""
    return getattr(client, method)(address, b"x", content_type="application/octet-stream")


DOORS = [from_the_page, from_the_page_into_a_folder, over_the_api, attached]


@pytest.mark.parametrize("door", DOORS)
def test_no_name_leads_out_of_the_workspace(chat, folder, own_home, door):
    person("alice")
    before = everything(own_home, folder)
    ways = ("", "replace", "keep_both")
    for name, if_taken in product([*LEAD_ELSEWHERE, *NOTHING_LEFT, *ONE_COMPONENT], ways):
        given = name.format(folder.parent / "secret.txt")
        address = quote(given.encode(errors="surrogatepass"))
        answer = door(chat, address, if_taken=if_taken)
        assert answer.status_code < 500, (given, answer.content)
        assert everything(own_home, folder) == before, given


@pytest.mark.parametrize("if_taken", ["refuse", "replace", "keep_both"])
def test_a_name_that_is_a_path_is_refused_in_one_sentence(place, folder, if_taken):
    for name in LEAD_ELSEWHERE:
        given = name.format(folder.parent / "secret.txt")
        with pytest.raises(Invalid, match="cannot be the name of a file here"):
            store(place, "", given, [b"x"], if_taken)
    assert [each.name for each in folder.iterdir()] == ["sub"]


def test_a_name_of_which_nothing_is_left_is_refused(place, folder):
    for name, how in product(NOTHING_LEFT, ("refuse", "replace", "keep_both")):
        with pytest.raises(Invalid, match="Give it a name"):
            store(place, "sub", name, [b"x"], how)
    assert not any((folder / "sub").iterdir())


def test_what_a_path_leads_to_is_neither_replaced_nor_brought_into_view(place, folder):
    secret = folder.parent / "secret.txt"
    for name in LEAD_ELSEWHERE:
        with pytest.raises(Invalid):
            store(place, ".", name.format(secret), [b"mine"], "replace")
    assert secret.read_text() == "secret"


def test_any_other_name_becomes_one_of_a_file_inside(place, folder):
    for name in ONE_COMPONENT:
        stored, _ = store(place, "sub", name, [b"first"], "keep_both")
        assert (folder / "sub" / stored.removeprefix("sub/")).read_bytes() == b"first", name
        path, replaced = store(place, "sub", stored.removeprefix("sub/"), [b"second"], "replace")
        assert path == stored
        assert trash.restore(place, replaced.key)[0] == stored
        assert (folder / stored).read_bytes() == b"first"


def test_a_file_with_the_name_of_one_that_is_being_written_is_seen_and_stays(place, folder):
    """Those are left out of lists, and taken away when they are an hour old."""
    stored, _ = store(place, "", ".0123456789abcdef.part", [b"mine"])
    assert stored in [each.name for each in folder.iterdir()] and stored[0] != "."


NO_NAMES = ["", ".", "..", "/", "a/b", "../a", "/a", "a/", "a\0b", "x" * 256, "é" * 128, "\ud800"]


def test_no_path_can_be_made_a_file_name():
    for name in NO_NAMES:
        with pytest.raises(NotAName):
            FileName(name)


def test_one_component_of_a_path_is_a_file_name():
    for name in ["a", "...", "..a", "x" * 255, "\udcff", "a\nb", "\\", "-"]:
        assert FileName(name) == name


def test_a_number_never_makes_a_name_longer_than_a_disk_takes(tmp_path):
    longest = FileName("x" * 255)
    folder = os.open(tmp_path, os.O_RDONLY | os.O_DIRECTORY)
    try:
        for name in "ab":
            (tmp_path / name).touch()
        assert move_to_free(folder, FileName("a"), folder, longest) == longest
        assert move_to_free(folder, FileName("b"), folder, longest) == "x" * 253 + "-2"
    finally:
        os.close(folder)


@pytest.mark.parametrize("path", ["../secret.txt", "sub/../../secret.txt", "/etc/passwd", "sub//x"])
def test_a_list_of_files_to_be_put_back_leads_nowhere_else(folder, own_home, path):
    """The lists lie in the home, where whoever writes them could write the file itself; still."""
    now, _ = restore.found(folder.parent, "secret.txt")
    step = restore.Step(path, now, None, [])
    with Store.of(folder) as store:
        by = partial(pytest.fail, "the agent's files are for what cannot be stored")
        assert [*restore.carry_out(folder.resolve(), store, [step], "undo 1", by)] == [path]
    assert (folder.parent / "secret.txt").read_text() == "secret"
