"""The agent's files on the page: rows of the tree, the file that is open, and what is done with them."""

import errno
import io
import os
import re
import shutil
import zipfile

import pytest
from django.contrib.auth.models import User

from agents.errors import Refused
from plans import actions
from tests.fake_model import call, say
from tests.images import png
from tests.inner import AgentFiles, Scope, store, trash
from tests.markup import html
from tests.world import (
    ALL_FILE_TOOLS,
    conversation,
    done,
    drive,
    files_of,
    person,
    plan_of,
    proposed,
    scripted,
    signed_in,
)

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("own_home")]


@pytest.fixture
def chat():
    return conversation(name="Docs writer")


@pytest.fixture
def folder(chat):
    return files_of(chat)


@pytest.fixture
def client():
    return signed_in(person("alice"))


def base(chat):
    return f"/c/{chat.pk}/workspace/"


def upload(client, chat, name, data=b"text", **query):
    more = "".join(f"&{key}={value}" for key, value in query.items())
    address = f"{base(chat)}upload?name={name}{more}"
    return client.post(address, data, content_type="application/octet-stream")


def view(client, chat, path, **query):
    answer = client.get(f"{base(chat)}file", {"path": path, **query})
    assert answer.status_code == 200, answer.content
    return html(answer)


def shown_anew(client, chat, **query):
    """What the page is told of the folders and of the file that it names."""
    answer = client.get(f"{base(chat)}refresh", {"stamp": "", "most": "0", **query})
    assert answer.status_code == 200
    return html(answer)


def stamp_in(page):
    return re.search(r'data-stamp="([^"]*)"', page)[1]


def done_by(answer):
    """Where the page goes then, what the toast says, and the key of its Undo."""
    page = html(answer)
    here = re.search(r'data-here="([^"]*)"', page)[1]
    said = re.search(r"<span>(.*?)</span>", page)
    key = re.search(r'name="deleted" value="(\w+)"', page)
    return here, said and said[1], key and key[1]


def test_the_panel_has_the_first_folder_and_others_come_when_they_are_unfolded(
    client, chat, folder
):
    (folder / "docs").mkdir()
    (folder / "docs" / "api.md").touch()
    shown = html(client.get(base(chat)))
    assert 'data-path="docs"' in shown and "api.md" not in shown
    below = shown_anew(client, chat, folder="docs")
    assert 'data-path="docs/api.md"' in below and f"#{in_id(shown)}" in below


def in_id(panel):
    """Of the list in the first folder."""
    return re.search(r'</summary><ul id="(in-\w+)"', panel)[1]


def test_a_folder_of_many_comes_in_parts(client, chat, folder):
    for number in range(503):
        (folder / f"{number:03}").touch()
    first = html(client.get(base(chat)))
    assert first.count("data-path=") == 500
    assert "Show 3 more" in first and "rows?path=&amp;start=500" in first
    rest = html(client.get(f"{base(chat)}rows?path=&start=500"))
    assert rest.count("data-path=") == 3 and "Show" not in rest
    assert f"#{re.search(r'more-.{16}', first)[0]}" in rest
    assert shown_anew(client, chat, folder="", most="503").count("data-path=") == 503


def test_hidden_characters_of_a_name_are_boxes(client, chat, folder):
    (folder / "gpj\u202eexe.txt").touch()
    (folder / os.fsdecode(b"odd\xff")).touch()
    shown = html(client.get(base(chat)))
    assert "U+202E" in shown
    assert 'aria-disabled="true"' in shown


def test_markdown_is_a_page_or_its_source(client, chat, folder):
    (folder / "docs").mkdir()
    (folder / "docs" / "api.md").write_text("# API\n\n![flow](img/flow.png)\n<script>x</script>")
    page = view(client, chat, "docs/api.md")
    assert "<h3" in page and f"/c/{chat.pk}/files/docs/img/flow.png" in page
    assert "<script>" not in page
    source = view(client, chat, "docs/api.md", **{"as": "source"})
    assert "# API" in source


@pytest.mark.parametrize(
    ("href", "leads_to"),
    [
        ("../src/app.py", "content?path=src%2Fapp.py"),
        ("./b%20c.md#two", "content?path=docs%2Fb+c.md#two"),
        ("#errors", "#errors"),
        ("img", "content?path=docs%2Fimg"),
        *((each, None) for each in ("../../agent.json", "%2e%2e/%2e%2e/agent.json", "/etc/passwd")),
        *(
            (each, None)
            for each in ("//example.com/x", "..", "a%00b", "a%5Cb", "file:///etc/passwd")
        ),
    ],
)
def test_a_page_links_to_other_files_of_the_workspace_alone(client, chat, folder, href, leads_to):
    (folder / "docs").mkdir()
    (folder / "docs" / "api.md").write_text(f"See [that]({href}).")
    page = view(client, chat, "docs/api.md")
    inside = page[page.index("See ") :]
    inside = inside[: inside.index("that")]
    base_of = "" if (leads_to or "").startswith("#") else base(chat)
    assert (f'href="{base_of}{leads_to}"' in inside) if leads_to else ("href" not in inside), inside


def test_code_is_in_colour_unless_something_in_it_is_hidden(client, chat, folder):
    (folder / "a.py").write_text("def act():\n    return 1\n")
    assert '<span class="k">def</span>' in view(client, chat, "a.py")
    (folder / "b.py").write_text("def act():\n    return '\u202e1'\n")
    shown = view(client, chat, "b.py")
    assert "U+202E" in shown and 'class="k"' not in shown


@pytest.mark.parametrize("name", ["page.html", "shape.svg", "page.xhtml"])
def test_what_could_run_is_shown_as_its_source(client, chat, folder, name):
    (folder / name).write_text("<svg onload='alert(1)'><script>alert(1)</script></svg>")
    shown = view(client, chat, name)
    assert "&lt;script&gt;" in shown and "<script>" not in shown
    answer = client.get(f"{base(chat)}content?path={name}")
    assert answer.headers["Content-Type"] == "application/octet-stream"
    assert answer.headers["Content-Disposition"].startswith("attachment")
    answer.close()


def test_pictures_are_drawn_and_what_only_claims_to_be_one_is_not(client, chat, folder):
    (folder / "flow.png").write_bytes(png(30, 20))
    shown = view(client, chat, "flow.png")
    assert f'src="/c/{chat.pk}/files/flow.png?' in shown and 'width="30"' in shown
    (folder / "fake.png").write_text("<script>alert(1)</script>")
    assert "no picture" in view(client, chat, "fake.png")


def test_a_pdf_is_read_in_a_frame_of_our_own_page_alone(client, chat, folder):
    (folder / "a.pdf").write_bytes(b"%PDF-1.4 text")
    assert "<iframe" in view(client, chat, "a.pdf")
    answer = client.get(f"{base(chat)}pdf?path=a.pdf")
    assert answer.headers["X-Frame-Options"] == "SAMEORIGIN"
    assert answer.headers["Content-Type"] == "application/pdf"
    assert "default-src 'none'" in answer.headers["Content-Security-Policy"]
    answer.close()
    (folder / "b.pdf").write_text("no pdf")
    assert "<iframe" not in view(client, chat, "b.pdf")
    assert client.get(f"{base(chat)}pdf?path=b.pdf").status_code == 404


def test_what_is_too_large_or_no_text_says_so(client, chat, folder):
    with (folder / "log.txt").open("wb") as file:
        file.truncate(34_000_000)
    assert "Too large to show (34 MB)." in view(client, chat, "log.txt")
    (folder / "a.bin").write_bytes(b"a\0b")
    assert "A binary file, 3 bytes" in view(client, chat, "a.bin")


def test_an_upload_says_what_is_there_already_and_then_replaces_or_keeps_both(client, chat, folder):
    first = upload(client, chat, "api.md")
    assert done_by(first) == ("api.md", None, None) and "Uploaded api.md" in html(first)
    again = upload(client, chat, "api.md", b"two")
    assert again.status_code == 409
    assert "api.md is there already." in html(again) and "keep_both" in html(again)
    assert done_by(upload(client, chat, "api.md", b"two", if_taken="keep_both"))[0] == "api-2.md"
    upload(client, chat, "api.md", b"three", if_taken="replace")
    assert (folder / "api.md").read_bytes() == b"three"


def test_what_was_replaced_and_what_replaced_it_take_turns(client, chat, folder):
    (folder / "docs").mkdir()
    upload(client, chat, "a.md", b"one", folder="docs")
    (folder / "docs" / "a.md").chmod(0o640)
    answer = upload(client, chat, "a.md", b"two", folder="docs", if_taken="replace")
    for content in (b"one", b"two", b"one"):
        here, said, key = done_by(answer)
        assert (here, said) == ("docs/a.md", "Replaced docs/a.md")
        answer = client.post(f"{base(chat)}restore", {"deleted": key})
        assert (folder / "docs" / "a.md").read_bytes() == content
        assert (folder / "docs" / "a.md").stat().st_mode & 0o777 == 0o640
    assert [each.name for each in (folder / "docs").iterdir()] == ["a.md"]


def test_what_was_replaced_stands_beside_what_cannot_give_way(client, chat, folder):
    upload(client, chat, "a.md", b"one")
    _, _, key = done_by(upload(client, chat, "a.md", b"two", if_taken="replace"))
    (folder / "a.md").unlink()
    (folder / "a.md").mkdir()
    back = client.post(f"{base(chat)}restore", {"deleted": key})
    assert done_by(back) == ("a-2.md", None, None)
    assert (folder / "a-2.md").read_bytes() == b"one" and (folder / "a.md").is_dir()
    new = upload(client, chat, "new.md", b"x", if_taken="replace")
    assert done_by(new) == ("new.md", None, None)


def broken_disk(*_):
    raise OSError(errno.EIO, "Input/output error")


def test_an_upload_that_breaks_off_replaces_nothing_and_keeps_nothing(chat, folder, own_home):
    place = AgentFiles.of(chat)
    store(place, "", "a.md", [b"one"])

    def broken_off():
        yield b"two"
        raise RuntimeError

    with pytest.raises(RuntimeError):
        store(place, "", "a.md", broken_off(), "replace")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(trash, "exchange", broken_disk)
        with pytest.raises(Refused):
            store(place, "", "a.md", [b"two"], "replace")
    assert (folder / "a.md").read_bytes() == b"one"
    assert not list((own_home / "deleted-files").glob("*/*"))


def test_a_file_is_renamed_deleted_and_brought_back(client, chat, folder):
    (folder / "docs").mkdir()
    (folder / "docs" / "a.md").write_text("a")
    renamed = client.post(f"{base(chat)}rename", {"path": "docs/a.md", "name": "b.md"})
    assert done_by(renamed)[0] == "docs/b.md"
    _, said, key = done_by(client.post(f"{base(chat)}delete", {"path": "docs/b.md"}))
    assert said == "Deleted docs/b.md"
    back = client.post(f"{base(chat)}restore", {"deleted": key})
    assert done_by(back) == ("docs/b.md", None, None)
    assert (folder / "docs" / "b.md").read_text() == "a"


def test_a_name_with_a_slash_is_refused(client, chat, folder):
    (folder / "a.md").write_text("a")
    for name in ("../../x/y", "docs/a.md"):
        answer = client.post(f"{base(chat)}rename", {"path": "a.md", "name": name})
        assert answer.status_code == 422
        assert '"#files-rename-alert"' in html(answer)
        assert "A name cannot have a / in it." in html(answer)
    assert [each.name for each in folder.iterdir()] == ["a.md"]


@pytest.mark.parametrize("to", ["../up.txt", "none/up.txt"])
def test_a_new_place_that_cannot_be_is_named_not_the_file(client, chat, folder, to):
    (folder / "a.md").write_text("a")
    address = f"/api/agents/{chat.agent_id}/files/rename"
    answer = client.post(address, {"path": "a.md", "to": to}, "application/json")
    assert answer.status_code == 404
    assert "up.txt cannot be its new place" in answer.json()["detail"]
    assert (folder / "a.md").read_text() == "a"


def test_what_has_changed_is_drawn_anew_and_nothing_else(client, chat, folder):
    (folder / "a.txt").write_text("a")
    seen = {"path": "a.txt", "seen": stamp_in(view(client, chat, "a.txt"))}
    known = {"folder": "", "stamp": stamp_in(html(client.get(base(chat))))}
    assert shown_anew(client, chat, **known, **seen) == ""
    (folder / "b.txt").write_text("b")
    drawn = shown_anew(client, chat, **known, **seen)
    assert 'data-path="b.txt"' in drawn and "#file-view" not in drawn
    (folder / "a.txt").write_text("longer")
    drawn = shown_anew(client, chat, **seen)
    assert "longer" in drawn and "Changed just now" in drawn
    (folder / "a.txt").unlink()
    drawn = shown_anew(client, chat, **seen)
    assert "a.txt is gone." in drawn and 'data-stamp=""' in drawn
    assert shown_anew(client, chat, path="a.txt", seen="") == ""
    assert shown_anew(client, chat, folder="none") == ""


def test_a_folder_that_cannot_be_listed_says_so_in_its_place(client, chat, folder):
    (folder / "docs").touch()  # by now a file
    assert "docs cannot be used" in shown_anew(client, chat, folder="docs")


def test_a_refusal_is_said_above_the_tree(client, chat, folder):
    gone = client.get(f"{base(chat)}file", {"path": "none.md"})
    assert gone.status_code == 404
    assert '"#files-alert"' in html(gone) and "none.md cannot be used" in html(gone)


def test_what_is_found_stands_with_its_path_and_nothing_is_said(client, chat, folder):
    (folder / "docs").mkdir()
    (folder / "docs" / "api.md").touch()
    found = html(client.get(f"{base(chat)}rows", {"q": "API docs"}))
    assert "docs/api.md</span>" in found and 'data-words="API docs"' in found
    none = html(client.get(f"{base(chat)}rows", {"q": "else"}))
    assert "No file has these words in its path." in none
    assert "<li" not in html(client.get(f"{base(chat)}rows", {"q": " "}))


def test_all_of_it_is_downloaded_as_a_zip(client, chat, folder):
    (folder / "a.txt").write_text("a")
    answer = client.get(f"{base(chat)}zip")
    with zipfile.ZipFile(io.BytesIO(b"".join(answer.streaming_content))) as archive:
        assert archive.namelist() == ["a.txt"]


def test_somebody_elses_conversation_has_no_files(chat, folder):
    (folder / "a.txt").write_text("a")
    bob = signed_in(person("bob"))
    for address in (
        "",
        "rows",
        "file?path=a.txt",
        "refresh?path=a.txt",
        "content?path=a.txt",
        "zip",
    ):
        assert bob.get(base(chat) + address).status_code == 404, address
    assert upload(bob, chat, "b.txt").status_code == 404
    for verb in ("rename", "delete", "restore"):
        assert bob.post(base(chat) + verb, {"path": "a.txt"}).status_code == 404, verb


def test_an_agent_that_is_gone_has_a_panel_that_says_so(client, chat, folder):
    (folder.parent / "agent.json").unlink()
    shown = client.get(base(chat))
    assert shown.status_code == 200
    assert "files-refusal" in shown.content.decode()


# What the plan has changed


@pytest.fixture
def changed(client):
    """A plan whose two subtasks have written, changed and removed files."""
    User.objects.filter(username="alice").update(is_superuser=True)
    chat = proposed("Write", "Remove", tools=dict.fromkeys((*ALL_FILE_TOOLS, "shell"), "allow"))
    folder = files_of(chat)
    (folder / "docs").mkdir()
    (folder / "docs" / "api.md").write_text("# API\nold\n")
    (folder / "docs" / "notes.md").write_text("notes\n")
    (folder / "same.md").write_text("same\n")
    scripted(
        call("write_file", path="docs/api.md", content="# API\nnew\nmore\n"),
        call("write_file", path="docs/schemas/a.json", content="{}\n"),
        done(),
        call("shell", command="rm docs/notes.md"),
        done(),
        say("All done."),
    )
    plan = plan_of(chat)
    actions.approve_plan(plan, plan.version, "alice", run="all")
    drive()
    plan.refresh_from_db()
    assert plan.state == "done"
    return chat


def test_the_tree_marks_what_the_plan_changed_and_shows_what_it_removed(client, changed):
    root = html(client.get(base(changed)))
    assert "Changed by this plan" in row_of(root, "docs")
    assert "by this plan" not in row_of(root, "same.md")
    docs = shown_anew(client, changed, folder="docs")
    assert "Changed by this plan" in row_of(docs, "docs/api.md")
    assert "New in this plan" in row_of(docs, "docs/schemas")
    gone = docs[docs.index('data-gone="docs/notes.md"') :]
    assert "Removed by this plan" in gone


def row_of(page, path):
    start = page.index(f'data-path="{path}"')
    return page[start : page.index("</li>", start)]


def test_an_open_file_says_which_subtask_changed_it_and_what(client, changed):
    page = view(client, changed, "docs/api.md")
    assert "Subtask 1" in page and "+2" in page and "−1" in page
    assert f"/plans/{plan_of(changed).pk}/#s1" in page
    lines = view(client, changed, "docs/api.md", **{"as": "changes"})
    assert "file-diff" in lines and "more" in lines
    assert "Whole plan" in lines and "Subtask 1" not in lines
    assert "Subtask" not in view(client, changed, "same.md")


def test_what_was_removed_and_is_there_again_has_changed(client, changed):
    (files_of(changed) / "docs" / "notes.md").write_text("again")
    docs = shown_anew(client, changed, folder="docs")
    assert "data-gone" not in docs
    assert "Changed by this plan" in row_of(docs, "docs/notes.md")


def test_folders_and_the_open_file_are_drawn_anew_when_an_attempt_has_ended(client, changed, chat):
    """Who searched meanwhile finds the marks in the tree."""
    root = html(client.get(base(changed)))
    assert stamp_in(root).endswith(f".{plan_of(changed).pk}-2")
    assert stamp_in(html(client.get(base(chat)))).endswith(".0-0")
    was, _, _ = stamp_in(root).rpartition("-")
    assert "Changed by this plan" in shown_anew(client, changed, folder="", stamp=f"{was}-1")
    was, _, _ = stamp_in(view(client, changed, "docs/api.md")).rpartition("-")
    drawn = shown_anew(client, changed, path="docs/api.md", seen=f"{was}-1")
    assert "Subtask 1" in drawn and "Changed just now" not in drawn


def test_a_folder_of_which_all_was_removed_is_not_called_empty(client, changed):
    shutil.rmtree(files_of(changed) / "docs")
    (files_of(changed) / "same.md").unlink()
    root = shown_anew(client, changed, folder="")
    assert 'data-gone="docs"' in root and "No files yet" not in root
    assert "docs was removed by this plan." in root


def test_a_subtask_that_was_removed_since_is_named_by_its_key(client, changed):
    plan_of(changed).subtasks.filter(key="s1").update(position=None)
    page = view(client, changed, "docs/api.md")
    assert "Subtask s1" in page
    assert f'href="/plans/{plan_of(changed).pk}/"' in page


def test_what_an_undo_has_put_back_has_no_mark_until_that_is_undone(client, changed):
    plan = plan_of(changed)
    before = stamp_in(shown_anew(client, changed, folder=""))
    row = actions.undo_changes(Scope.named(plan, "s2"), "alice")
    docs = shown_anew(client, changed, folder="docs")
    assert "by this plan" not in row_of(docs, "docs/notes.md")
    assert "Changed by this plan" in row_of(docs, "docs/api.md")
    assert shown_anew(client, changed, folder="", stamp=before)
    actions.undo_changes(Scope.named(plan, "s1"), "alice")
    assert "by this plan" not in shown_anew(client, changed, folder="docs")
    assert "Subtask" not in view(client, changed, "docs/api.md")
    actions.undo_changes(Scope(row), "alice")
    docs = shown_anew(client, changed, folder="docs")
    assert "Removed by this plan" in docs and "Changed by this plan" not in docs


def test_an_open_folder_without_files_says_that_it_is_empty(chat, client, folder):
    (folder / "bare").mkdir()
    (folder / "full").mkdir()
    (folder / "full" / "a.txt").touch()
    drawn = {
        name: client.get(f"{base(chat)}refresh?folder={name}&stamp=&most=0").content.decode()
        for name in ("bare", "full")
    }
    assert "This folder is empty." in drawn["bare"]
    assert "This folder is empty." not in drawn["full"]
