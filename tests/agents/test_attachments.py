"""Files that a person attaches: where they land, what models get of them, and what becomes of them."""

import errno
import os
import time

import pytest
from django.contrib.auth.models import User
from django.db import connection

from agents.errors import Conflict, DiskFull, Forbidden, Invalid, NotFound, Refused
from agents.models import Attachment, Conversation, Message
from tests.fake_model import call, say, silent
from tests.images import png
from tests.inner import ATTACHMENTS_LARGEST as LARGEST
from tests.inner import (
    LARGEST_IMAGE,
    MOST_FILES,
    Listing,
    ModelInfo,
    Workspace,
    active_plan,
    ask_again,
    attachments,
    catalog,
    change_agent,
    delete_conversation,
    handle_message,
    remember,
    remove,
    resolve,
    safe_name,
    sees_images,
    send_edited,
    workspace_files,
)
from tests.inner import agents_actions as actions
from tests.inner import attachments_take_in as take_in
from tests.inner import conversations_erase as erase
from tests.world import (
    calls_of,
    conversation,
    done,
    drive,
    files_of,
    on_screen,
    proposal,
    scripted,
    tell,
)

pytestmark = pytest.mark.django_db(transaction=True)

PICTURE = png(3, 2)


@pytest.fixture
def chat(own_home):
    return conversation(plan={"enabled": False})


def attach(c, name="notes.txt", data=b"a note"):
    return take_in(c, name, [data], "alice")


def tell_with(c, text, *files, by="alice"):
    keys = [each.pk for each in files]
    said = handle_message(c, text, by, on_screen(c), attached=keys)
    drive()
    return said


def in_box(c):
    return [each.name for each in attachments.in_box(c)]


def uploads(c):
    folder = files_of(c) / "uploads"
    return sorted(each.name for each in folder.iterdir()) if folder.is_dir() else []


def content(request, place=-1):
    return request["messages"][place]["content"]


def kinds(parts):
    return [part["type"] for part in parts]


# Where they land


def test_a_file_lands_in_uploads_and_in_the_message_box(chat):
    file = attach(chat)
    assert (files_of(chat) / "uploads" / "notes.txt").read_bytes() == b"a note"
    assert in_box(chat) == ["notes.txt"]
    assert (file.path, file.size, file.media_type) == (
        "uploads/notes.txt",
        6,
        "text/plain",
    )


def test_a_name_that_is_taken_gets_a_number_and_nothing_is_replaced(chat):
    assert [attach(chat, "a.tar.gz", each).name for each in (b"1", b"2", b"3")] == [
        "a.tar.gz",
        "a.tar-2.gz",
        "a.tar-3.gz",
    ]
    assert (files_of(chat) / "uploads" / "a.tar.gz").read_bytes() == b"1"


@pytest.mark.parametrize(
    ("wanted", "name"),
    [
        ("../../etc/passwd", "passwd"),
        ("..\\..\\boot.ini", "boot.ini"),
        ("/etc/", "file"),
        ("", "file"),
        ("..", "file"),
        (".env", "env"),
        ("a\0b\n\x1b[31m.txt", "ab[31m.txt"),
        ("invoice\u202efdp.exe", "invoicefdp.exe"),
        ("two\u200bwords\u00a0here .md", "twowords here .md"),
        ("\ud800half.txt", "half.txt"),
        ("x" * 300 + ".txt", "x" * 116 + ".txt"),
        ("é" * 300, "é" * 60),
        ("a." + "y" * 40, "a." + "y" * 40),
        ("Grüße 世界.pdf", "Grüße 世界.pdf"),
    ],
)
def test_a_name_becomes_a_plain_one(wanted, name):
    assert safe_name(wanted) == name
    assert len(safe_name(wanted).encode()) <= 140


def test_a_file_that_is_too_large_or_empty_leaves_nothing_behind(chat):
    piece = b"x" * 1_000_000
    with pytest.raises(Invalid, match="20 MB at most"):
        take_in(chat, "big", (piece for _ in range(LARGEST // len(piece) + 1)), "alice")
    with pytest.raises(Invalid, match="empty"):
        take_in(chat, "none", [b""], "alice")
    assert uploads(chat) == in_box(chat) == []


def test_a_file_that_breaks_off_leaves_nothing_behind(chat):
    def pieces():
        yield b"half"
        raise ConnectionResetError

    with pytest.raises(Refused):
        take_in(chat, "half", pieces(), "alice")
    assert uploads(chat) == in_box(chat) == []


def test_a_full_disk_is_said_and_leaves_nothing_behind(chat, monkeypatch):
    def full(_handle):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(DiskFull, match="disk is full"):
        attach(chat)
    assert uploads(chat) == in_box(chat) == []


def test_a_file_without_a_row_is_taken_away_again(chat, monkeypatch):
    monkeypatch.setattr(attachments, "attach", lambda *_: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        attach(chat)
    assert uploads(chat) == []
    assert not Attachment.objects.exists()


def test_what_a_killed_process_left_unfinished_goes_with_time(chat):
    attach(chat)
    folder = files_of(chat) / "uploads"
    old, new = folder / ".00112233aabbccdd.part", folder / ".11112233aabbccdd.part"
    for each in (old, new):
        each.write_bytes(b"half")
    os.utime(old, (time.time() - 7200,) * 2)
    workspace_files.remove_cut_off()
    assert uploads(chat) == [new.name, "notes.txt"]


def test_a_link_out_of_the_workspace_is_not_followed(chat, tmp_path_factory):
    elsewhere = tmp_path_factory.mktemp("elsewhere")
    (files_of(chat) / "uploads").symlink_to(elsewhere)
    with pytest.raises(NotFound, match="uploads cannot be used"):
        attach(chat)
    assert list(elsewhere.iterdir()) == []


def test_a_file_in_the_way_of_the_folder_is_said(chat):
    (files_of(chat) / "uploads").write_text("mine")
    with pytest.raises(NotFound, match="a part of it is a file, or a link"):
        attach(chat)
    assert (files_of(chat) / "uploads").read_text() == "mine"


@pytest.fixture
def linked(chat, tmp_path_factory):
    User.objects.update(is_superuser=True)

    def link(**more):
        folder = tmp_path_factory.mktemp("project")
        change_agent(chat.agent_id, {"workspace": str(folder), **more})
        return folder

    return link


def test_nothing_is_attached_in_a_folder_that_may_only_be_read(chat, linked):
    folder = linked(tools={"write_file": "off"})
    with pytest.raises(Forbidden, match="may only read"):
        attach(chat)
    assert list(folder.iterdir()) == []


def test_nothing_is_removed_from_a_folder_that_may_only_be_read(chat, linked):
    folder = linked(tools={"write_file": "allow"})
    file = attach(chat)
    change_agent(chat.agent_id, {"tools": {"write_file": "off"}})
    remove(chat, file.pk, "alice")
    assert (folder / "uploads" / "notes.txt").exists()
    assert not Attachment.objects.exists()


def test_removing_a_file_leaves_an_equal_one_that_took_its_name(chat):
    first = attach(chat)
    (files_of(chat) / "uploads" / "notes.txt").rename(files_of(chat) / "uploads" / "moved.txt")
    second = attach(chat)
    assert (first.path, first.digest) == (second.path, second.digest)
    remove(chat, first.pk, "alice")
    assert uploads(chat) == ["moved.txt", "notes.txt"]
    remove(chat, second.pk, "alice")
    assert uploads(chat) == ["moved.txt"]


def test_removing_a_file_leaves_an_equal_one_in_another_folder(chat, linked):
    linked()
    file = attach(chat)
    other = linked()
    (other / "uploads").mkdir()
    (other / "uploads" / "notes.txt").write_text("a note")
    remove(chat, file.pk, "alice")
    assert (other / "uploads" / "notes.txt").read_text() == "a note"


def test_a_linked_workspace_that_is_gone_is_said(chat, tmp_path_factory):
    folder = tmp_path_factory.mktemp("project")
    User.objects.update(is_superuser=True)
    change_agent(chat.agent_id, {"workspace": str(folder)})
    attach(chat)
    assert (folder / "uploads" / "notes.txt").exists()
    folder.rename(folder.with_name("away"))
    with pytest.raises(Invalid, match="is not a folder"):
        attach(chat)


def test_the_eleventh_file_is_left_out_by_name(chat):
    for number in range(MOST_FILES):
        attach(chat, f"{number}.txt")
    with pytest.raises(Conflict, match=r"^11 files; 10 is the most\. late\.txt was left out\.$"):
        attach(chat, "late.txt")
    assert len(uploads(chat)) == MOST_FILES


def test_what_is_taken_out_of_the_box_is_out_of_the_workspace(chat):
    file = attach(chat)
    remove(chat, file.pk, "alice")
    assert in_box(chat) == uploads(chat) == []
    assert not Attachment.objects.exists()
    with pytest.raises(NotFound):
        remove(chat, file.pk, "alice")


@pytest.mark.parametrize("size", [6, 7, LARGEST + 1])
def test_what_stands_in_its_place_by_then_stays(chat, size):
    file = attach(chat)
    (files_of(chat) / "uploads" / "notes.txt").write_bytes(b"x" * size)
    remove(chat, file.pk, "alice")
    assert (in_box(chat), uploads(chat)) == ([], ["notes.txt"])


def test_a_file_of_the_same_name_in_another_folder_stays(chat, tmp_path_factory):
    file = attach(chat)
    folder = tmp_path_factory.mktemp("project")
    (folder / "uploads").mkdir()
    (folder / "uploads" / "notes.txt").write_text("mine")
    User.objects.update(is_superuser=True)
    change_agent(chat.agent_id, {"workspace": str(folder)})
    remove(chat, file.pk, "alice")
    assert (folder / "uploads" / "notes.txt").read_text() == "mine"


def test_a_file_is_measured_before_anything_waits_for_it(chat, monkeypatch):
    """On SQLite a transaction that writes keeps everybody waiting."""
    read = attachments.image_at
    monkeypatch.setattr(
        attachments,
        "image_at",
        lambda *args: read(*args) if not connection.in_atomic_block else pytest.fail("it waits"),
    )
    attach(chat, "shot.png", PICTURE)


# What models get


def test_a_model_gets_the_paths_and_the_pictures_and_the_text_stays_as_typed(chat):
    model = scripted(say("A chart."))
    said = tell_with(chat, "look", attach(chat), attach(chat, "shot.png", PICTURE))
    parts = content(model.requests[0])
    assert kinds(parts) == ["text", "image_url"]
    assert parts[0]["text"] == (
        "look\n\nAttached files, in the workspace: uploads/notes.txt (6 bytes), "
        f"uploads/shot.png ({len(PICTURE)} bytes)"
    )
    assert Message.objects.get(pk=said.message.pk).text == "look"
    assert in_box(chat) == []


def test_later_requests_bring_the_same_words_and_pictures(chat):
    model = scripted(say("A chart."), say("Yes."))
    tell_with(chat, "look", attach(chat, "shot.png", PICTURE))
    (files_of(chat) / "uploads" / "shot.png").write_bytes(b"another")
    tell(chat, "sure of that?")
    first, later = (content(request, 0) for request in model.requests)
    assert first == later


def test_a_model_reads_an_attached_text_with_its_tools(chat):
    scripted(call("read_file", path="uploads/notes.txt"), say("It is a note."))
    tell_with(chat, "read it", attach(chat))
    assert calls_of(chat)[0].result == "a note"


def test_files_say_enough_without_a_word(chat):
    model = scripted(say("A note."))
    tell_with(chat, "", attach(chat))
    assert content(model.requests[0]).startswith("Attached files, in the workspace: uploads/notes")
    assert Conversation.objects.get(pk=chat.pk).title == "notes.txt"
    with pytest.raises(Invalid, match="Write a message first"):
        handle_message(chat, " ", "alice", None)


def test_a_model_that_does_not_see_gets_the_name_alone(chat):
    blind = ModelInfo("scripted", sees_images=False)
    catalog.store(resolve("openai"), Listing("openai", models=(blind,)), 0.1)
    model = scripted(say("I cannot see."))
    tell_with(chat, "look", attach(chat, "shot.png", PICTURE))
    assert content(model.requests[0]).endswith(f"uploads/shot.png ({len(PICTURE)} bytes)")


def test_a_picture_that_is_too_large_for_models_is_a_file(chat):
    file = attach(chat, "big.png", PICTURE + bytes(LARGEST_IMAGE))
    assert not file.is_shown
    assert attachments.cannot_be_shown(file)
    assert not attachments.cannot_be_shown(attach(chat))


def test_an_svg_is_no_picture(chat):
    assert not attach(chat, "x.svg", b"<svg xmlns='http://www.w3.org/2000/svg'/>").is_shown


def test_planner_and_executor_know_of_the_files_of_a_plan(own_home):
    c = conversation()
    model = scripted(proposal("Read it"), say("Here."), done("Read."), done(), say("."))
    file = attach(c, "shot.png", PICTURE)
    tell_with(c, "/plan redraw the chart", file)
    assert kinds(content(model.requests[0])) == ["text", "image_url"]
    assert "uploads/shot.png" in content(model.requests[0])[0]["text"]
    assert active_plan(c).goal == "redraw the chart"
    before = len(model.requests)
    tell(c, "go")
    executor = model.requests[before]
    shown = [each for each in executor["messages"] if isinstance(each["content"], list)]
    assert kinds(shown[0]["content"]) == ["text", "image_url"]


def test_an_answer_to_a_question_brings_its_files(own_home):
    c = conversation()
    asks = call("ask_user", question="Which chart?")
    model = scripted(proposal("Ask"), say("Here."), asks, done("Asked."), say("."))
    tell(c, "/plan redraw the chart")
    tell(c, "go")
    tell_with(c, "this one", attach(c, "shot.png", PICTURE))
    [asked] = calls_of(c, "ask_user")
    assert "this one\n\nAttached files, in the workspace: uploads/shot.png" in asked.result
    pictures = [m for m in model.requests[3]["messages"] if isinstance(m["content"], list)]
    assert kinds(pictures[-1]["content"])[-1] == "image_url"


# What becomes of them


@pytest.mark.parametrize("command", ["/help", "/clear", "/plan", "/nonsense"])
def test_a_command_leaves_them_in_the_box(own_home, command):
    c = conversation()
    tell_with(c, command, attach(c))
    assert in_box(c) == ["notes.txt"]


def test_a_new_conversation_takes_them_along(own_home):
    c = conversation()
    file = attach(c)
    fresh = tell_with(c, "/new", file).conversation
    assert (in_box(c), in_box(fresh)) == ([], ["notes.txt"])
    scripted(say("Read."))
    tell_with(fresh, "read it", file)
    assert in_box(fresh) == []


def test_a_yes_leaves_them_in_the_box(own_home):
    c = conversation()
    scripted(proposal("One"), say("Here."), done("Done."), say("."))
    tell(c, "/plan tidy up")
    tell_with(c, "go", attach(c))
    assert in_box(c) == ["notes.txt"]


def test_a_file_goes_out_once(chat):
    scripted(say("Read."))
    file = attach(chat)
    tell_with(chat, "read it", file)
    with pytest.raises(Conflict, match=r"^notes\.txt was sent already, or removed\.$"):
        handle_message(chat, "again", "alice", None, attached=[file.pk])
    assert Message.objects.filter(conversation=chat, role="user").count() == 1


def test_a_refused_message_leaves_them_in_the_box(chat):
    file = attach(chat)
    with pytest.raises(Invalid):
        handle_message(chat, "x" * 300_000, "alice", None, attached=[file.pk])
    assert in_box(chat) == ["notes.txt"]


def test_asking_again_and_editing_keep_them(chat):
    model = scripted(say("One."), say("Two."), say("Three."))
    said = tell_with(chat, "look", attach(chat, "shot.png", PICTURE))
    again = ask_again(said.turn, "alice")
    drive()
    edited = send_edited(again.message, "look closer", "alice")
    drive()
    assert [content(request)[1]["type"] for request in model.requests] == ["image_url"] * 3
    assert edited.message.attachments == said.message.attachments
    assert Attachment.objects.count() == 1


def queued(c, *files):
    """A message that waits behind a reply that goes on for ever."""
    scripted(silent("I am at it"))
    handle_message(c, "go on", "alice", None)
    keys = [each.pk for each in files]
    return handle_message(c, "and this", "alice", None, attached=keys)


def test_a_message_that_is_taken_back_takes_its_files_away(chat):
    said = queued(chat, attach(chat))
    actions.discard_queued(said.message, "alice")
    assert in_box(chat) == uploads(chat) == []
    assert not Attachment.objects.exists()


def test_an_edit_that_is_taken_back_leaves_the_files_of_what_was_sent(chat):
    scripted(say("One."))
    said = tell_with(chat, "look", attach(chat))
    edited = send_edited(said.message, "look closer", "alice")
    actions.discard_queued(edited.message, "alice")
    assert uploads(chat) == ["notes.txt"]
    assert Attachment.objects.exists()


def test_files_of_a_message_that_a_stop_gave_back_stand_in_the_box(chat):
    said = queued(chat, attach(chat))
    chat.turns.exclude(pk=said.turn.pk).update(state="running")
    actions.stop_reply(chat, "alice")
    assert in_box(chat) == ["notes.txt"]
    assert uploads(chat) == ["notes.txt"]


def test_a_deleted_conversation_leaves_what_was_sent_and_takes_what_was_not(chat):
    scripted(say("Read."))
    tell_with(chat, "read it", attach(chat, "sent.txt"))
    attach(chat, "unsent.txt")
    folder = files_of(chat) / "uploads"
    delete_conversation(chat, "alice")
    assert (folder / "unsent.txt").exists(), "it can be taken back"
    erase(chat)
    assert [each.name for each in folder.iterdir()] == ["sent.txt"]
    assert not Attachment.objects.exists()


def test_a_workspace_gives_out_no_file_through_a_link(chat, tmp_path_factory):
    outside = tmp_path_factory.mktemp("outside") / "secret"
    outside.write_text("hunter2")
    (files_of(chat) / "link").symlink_to(outside)
    workspace = Workspace(files_of(chat))
    assert not workspace.holds("link")
    assert not workspace.holds("../../agent.json")
    workspace.remove("link")
    assert outside.exists()


def test_what_a_server_said_of_its_model_counts(chat):
    assert sees_images("openai", "scripted") is None
    remember(resolve("openai"), "scripted", {("is_blind", ""): "No images."})
    assert sees_images("openai", "scripted") is False
    assert sees_images("demo", "docs") is False
    assert sees_images("nobody", "x") is None
