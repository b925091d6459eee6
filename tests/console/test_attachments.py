"""Attached files on pages and in the API: taken in, shown, and given to nobody but their owner."""

import errno
import json
import os

import pytest
from django.test import Client

from agents.models import Attachment, Conversation, Message
from tests.fake_model import say, silent
from tests.images import png
from tests.inner import Listing, ModelInfo, catalog, create_token, format_size, resolve
from tests.markup import html
from tests.world import HTMX, conversation, drive, files_of, news, numbers, person, scripted

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("own_home")]

PICTURE = png(640, 480)
POLICY = "default-src 'none'; frame-ancestors 'none'; sandbox"
SVG = b"<svg xmlns='http://www.w3.org/2000/svg'><script>alert(1)</script></svg>"


@pytest.fixture
def chat():
    return conversation(plan={"enabled": False}, name="Docs writer")


def signed_in(name="alice"):
    client = Client()
    client.force_login(person(name))
    return client


def caller(name="alice"):
    return Client(
        headers={"Authorization": f"Bearer {create_token(person(name), f'script {next(numbers)}')}"}
    )


def upload(client, c, name, data=b"a note", **more):
    path = f"/c/{c.pk}/attachments?name={name}"
    return client.post(path, data, content_type="application/octet-stream", **more)


def attach(client, c, name, data=b"a note"):
    path = f"/api/conversations/{c.pk}/attachments?name={name}"
    answer = client.post(path, data, content_type="application/octet-stream")
    assert answer.status_code == 201, answer.content
    return answer.json()["attachment"]


def send(client, c, text="look", *files):
    keys = ",".join(str(each["id"]) for each in files)
    answer = client.post(f"/c/{c.pk}/say", {"text": text, "attachments": keys}, headers=HTMX)
    drive()
    return answer


def page(client, c):
    return html(client.get(f"/c/{c.pk}/"))


# The message box


def test_an_uploaded_file_stands_in_the_box_of_every_page_until_it_is_sent(chat):
    client = signed_in()
    answer = upload(client, chat, "notes.txt")
    assert (answer.status_code, answer.content) == (200, b"")
    key = answer.headers["Planside-Attachment"]
    assert f'id="attachment-{key}"' in news(client, chat)
    shown = page(client, chat)
    assert 'aria-label="Remove notes.txt"' in shown and "6 bytes" in shown
    scripted(say("Read."))
    client.post(f"/c/{chat.pk}/say", {"text": "read", "attachments": key}, headers=HTMX)
    assert 'aria-label="Remove notes.txt"' not in page(client, chat)


def test_a_picture_that_no_model_can_be_shown_is_told(chat):
    answer = upload(signed_in(), chat, "photo.heic")
    sentence = "photo.heic cannot be shown to a model. It is attached as a file."
    assert answer.content.decode() == sentence
    assert answer.headers["Content-Type"] == "text/plain; charset=utf-8"


def test_a_refusal_is_one_sentence(chat, settings):
    client = signed_in()
    assert upload(client, chat, "none", b"").content == b"The file is empty."
    form = client.post(f"/c/{chat.pk}/attachments", {"file": "x"})
    assert form.status_code == 422 and b"not a form" in form.content
    settings.UPLOADS_PER_MINUTE = 1
    upload(client, chat, "one")
    late = upload(client, chat, "two")
    assert late.status_code == 429 and "Retry-After" in late.headers


def test_a_file_over_the_limit_is_refused_before_it_is_read(chat):
    for path in (f"/c/{chat.pk}/attachments", f"/api/conversations/{chat.pk}/attachments"):
        client = signed_in() if path.startswith("/c/") else caller()
        answer = client.generic("POST", path, b"x" * 20_000_001, "application/octet-stream")
        assert answer.status_code == 413
        assert b"A file may have 20 MB at most." in answer.content


def test_a_file_over_the_limit_of_other_requests_is_taken(chat):
    made = attach(caller(), chat, "long.bin", b"x" * 5_000_000)
    assert made["size"] == 5_000_000
    assert format_size(made["size"]) == "5 MB"


def test_one_that_is_removed_is_gone_from_box_and_workspace(chat):
    client = signed_in()
    key = upload(client, chat, "notes.txt").headers["Planside-Attachment"]
    assert client.post(f"/c/{chat.pk}/attachments/{key}/remove", headers=HTMX).status_code == 200
    assert f'id="attachment-{key}"' not in news(client, chat)
    assert not (files_of(chat) / "uploads" / "notes.txt").exists()


def test_a_model_that_sees_nothing_is_named_with_one_that_does(chat):
    client = signed_in()
    models = (ModelInfo("scripted", sees_images=False), ModelInfo("seer", sees_images=True))
    catalog.store(resolve("openai"), Listing("openai", models=models), 0.1)
    upload(client, chat, "notes.txt")
    assert "does not see images" not in page(client, chat)
    upload(client, chat, "shot.png", PICTURE)
    shown = page(client, chat)
    assert "scripted does not see images and gets the name only." in shown
    assert 'data-use-model="openai/seer"' in shown and "Use seer" in shown
    client.post(f"/c/{chat.pk}/models/choose", {"model": "openai/seer"}, headers=HTMX)
    assert "does not see images" not in news(client, chat)


def test_pictures_above_are_named_too_when_the_model_sees_none(chat):
    client = signed_in()
    models = (ModelInfo("scripted", sees_images=False), ModelInfo("seer", sees_images=True))
    catalog.store(resolve("openai"), Listing("openai", models=models), 0.1)
    client.post(f"/c/{chat.pk}/models/choose", {"model": "openai/seer"}, headers=HTMX)
    made = attach(caller(), chat, "shot.png", PICTURE)
    scripted(say("A shot."))
    send(client, chat, "look", made)
    said = "does not see the images above"
    assert said not in page(client, chat)
    client.post(f"/c/{chat.pk}/models/choose", {"model": "openai/scripted"}, headers=HTMX)
    shown = page(client, chat)
    assert "scripted does not see the images above and gets their names only." in shown
    assert 'data-use-model="openai/seer"' in shown
    assert said in news(client, chat)
    client.post(f"/c/{chat.pk}/say", {"text": "/clear"}, headers=HTMX)
    assert said not in page(client, chat), "what was cleared no model reads"


def test_who_is_asked_again_is_said_to_see_no_images(chat):
    client = signed_in()
    models = (ModelInfo("scripted", sees_images=True), ModelInfo("blind", sees_images=False))
    catalog.store(resolve("openai"), Listing("openai", models=models), 0.1)
    client.post(f"/c/{chat.pk}/models/choose", {"model": "openai/blind"}, headers=HTMX)
    client.post(f"/c/{chat.pk}/models/choose", {"model": "openai/scripted"}, headers=HTMX)
    other = conversation()
    client.post(f"/c/{other.pk}/models/choose", {"model": "openai/blind"}, headers=HTMX)
    menu = f"/c/{chat.pk}/models/recent"
    assert "sees no images" not in html(client.get(menu)), "there is nothing to see"
    made = attach(caller(), chat, "shot.png", PICTURE)
    scripted(say("A shot."))
    send(client, chat, "look", made)
    assert html(client.get(menu)).count("sees no images") == 1


def test_more_pictures_than_a_model_is_shown_are_counted(chat):
    client = signed_in()
    for number in range(10):
        upload(client, chat, f"{number}.png", PICTURE)
    assert "gets the names of 2 of these." in page(client, chat)


def test_files_are_not_lost_between_upload_and_sending(chat):
    """What a kill leaves is what is in the database and on the disk."""
    client = signed_in()
    made = attach(caller(), chat, "notes.txt")
    Conversation.objects.filter(pk=chat.pk).update(draft="read it")
    shown = page(signed_in(), chat)
    assert f'id="attachment-{made["id"]}"' in shown and "read it" in shown
    scripted(say("Read."))
    assert send(client, chat, "read it", made).status_code == 200
    assert Message.objects.filter(conversation=chat, role="user").get().attachments


def test_a_refused_message_says_why_and_keeps_its_files(chat):
    client = signed_in()
    made = attach(caller(), chat, "notes.txt")
    client.post(f"/c/{chat.pk}/attachments/{made['id']}/remove", headers=HTMX)
    answer = send(client, chat, "read it", made)
    assert answer.status_code == 409
    assert "was sent already, or removed" in answer.content.decode()
    assert Conversation.objects.get(pk=chat.pk).draft == "read it"


# The message


def test_pictures_stand_above_the_words_and_other_files_below(chat):
    client = signed_in()
    picture, note = attach(caller(), chat, "shot.png", PICTURE), attach(caller(), chat, "notes.txt")
    scripted(say("I see."))
    send(client, chat, "look at this", picture, note)
    shown = page(client, chat)
    shown = shown.partition('id="log"')[2]
    at = [shown.index(each) for each in ('alt="Open shot.png"', "look at this", 'download="notes')]
    assert at == sorted(at)
    assert 'width="640" height="480"' in shown


def test_an_edited_message_keeps_its_files(chat):
    alice = signed_in()
    scripted(say("Read."), say("Read again."))
    send(alice, chat, "read it", attach(caller(), chat, "kept.txt"))
    message = Message.objects.get(conversation=chat, text="read it")
    answer = alice.post(
        f"/c/{chat.pk}/messages/{message.pk}/edit", {"text": "read it again"}, headers=HTMX
    )
    assert answer.status_code < 300, answer.content
    drive()
    thread = page(alice, chat)
    said = thread[thread.index('id="log"') :]
    assert "Read again." in said and "read it again" in said
    assert said.count('download="kept.txt"') == 1


def test_a_file_that_is_gone_is_struck(chat):
    client = signed_in()
    note = attach(caller(), chat, "notes.txt")
    scripted(say("I see."))
    send(client, chat, "look", note)
    (files_of(chat) / "uploads" / "notes.txt").unlink()
    shown = page(client, chat)
    assert "Removed" in shown and note["url"] not in shown
    assert client.get(note["url"]).status_code == 404
    [said] = [m for m in messages(chat) if m["role"] == "user"]
    assert said["attachments"][0]["removed"] is True


def test_a_message_of_files_alone_has_no_empty_bubble(chat):
    scripted(say("I see."))
    send(signed_in(), chat, "", attach(caller(), chat, "notes.txt"))
    said = Message.objects.filter(conversation=chat, role="user").get()
    shown = page(signed_in(), chat)
    assert shown.partition(f'id="message-{said.pk}-text"')[2].partition(">")[2][:6] == "</div>"


def test_a_hostile_name_is_only_text(chat):
    made = attach(caller(), chat, "%22%3E%3Cimg src=x onerror=alert(1)%3E{}.txt")
    shown = page(signed_in(), chat)
    assert "<img src=x" not in shown
    assert made["name"] == '">img src=x onerror=alert(1)>{}.txt'.replace('">', '"><')


# Giving out


def test_a_picture_is_drawn_and_nothing_else(chat):
    client = signed_in()
    for name, data in (("page.html", b"<script>alert(1)</script>"), ("x.svg", SVG), ("x.png", SVG)):
        answer = client.get(attach(caller(), chat, name, data)["url"])
        assert answer.headers["Content-Disposition"] == f'attachment; filename="{name}"'
        assert answer.headers["Content-Type"] == "application/octet-stream"
        assert answer.headers["X-Content-Type-Options"] == "nosniff"
        assert answer.headers["Content-Security-Policy"] == POLICY
        assert b"".join(answer.streaming_content) == data
        answer.close()
    drawn = client.get(attach(caller(), chat, "shot.png", PICTURE)["url"])
    assert (drawn.content, drawn.headers["Content-Type"]) == (PICTURE, "image/png")
    assert drawn.headers["Content-Security-Policy"] == POLICY
    assert drawn.headers["Vary"] == "Cookie, Authorization"


def test_files_are_their_owners_alone(chat):
    made, others = attach(caller(), chat, "notes.txt"), conversation("bob")
    bob = caller("bob")
    assert bob.get(made["url"]).status_code == 404
    assert bob.delete(made["url"]).status_code == 404
    body = {"text": "mine", "attachments": [made["id"]]}
    path = f"/api/conversations/{others.pk}/messages"
    taken = bob.post(path, json.dumps(body), content_type="application/json")
    assert taken.status_code == 409 and "notes" not in taken.content.decode()
    assert upload(signed_in("bob"), chat, "x").status_code == 404
    assert signed_in("bob").get(f"/c/{chat.pk}/files/uploads/notes.txt").status_code == 404
    assert Client().get(made["url"]).status_code == 401
    own = caller().get(made["url"])
    assert b"".join(own.streaming_content) == b"a note"
    own.close()


def test_a_picture_that_a_tool_brought_is_no_attachment(chat):
    row = Attachment.objects.create(conversation=chat, media_type="image/png", data=PICTURE)
    assert caller().get(f"/api/attachments/{row.pk}").status_code == 404


# The API


def messages(c):
    return caller().get(f"/api/conversations/{c.pk}/messages").json()["items"]


def test_scripts_attach_send_and_read(chat):
    scripted(say("I see."))
    script = caller()
    made = attach(script, chat, "shot.png", PICTURE)
    assert made | {"id": 0, "url": ""} == {
        "id": 0,
        "name": "shot.png",
        "path": "uploads/shot.png",
        "media_type": "image/png",
        "size": len(PICTURE),
        "width": 640,
        "height": 480,
        "removed": False,
        "url": "",
    }
    path = f"/api/conversations/{chat.pk}/messages"
    body = {"attachments": [made["id"]]}
    sent = script.post(path, json.dumps(body), content_type="application/json")
    assert sent.status_code == 202
    assert sent.json()["message"]["attachments"] == [made]
    assert messages(chat)[0]["attachments"] == [made]
    assert script.delete(made["url"]).status_code == 409
    nothing = script.post(path, "{}", content_type="application/json")
    assert nothing.json() == {"detail": "Write a message first."}


def test_a_script_takes_back_what_it_did_not_send(chat):
    made = attach(caller(), chat, "notes.txt")
    assert caller().delete(made["url"]).status_code == 204
    assert caller().get(made["url"]).status_code == 404


def test_a_full_disk_is_507(chat, monkeypatch):
    def full(_handle):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    path = f"/api/conversations/{chat.pk}/attachments?name=a"
    answer = caller().post(path, b"x", content_type="application/octet-stream")
    assert answer.status_code == 507 and "disk is full" in answer.json()["detail"]
    assert upload(signed_in(), chat, "a").status_code == 507


# Pictures of the workspace in replies


def test_a_picture_of_the_workspace_is_shown_in_a_reply(chat):
    client = signed_in()
    (files_of(chat) / "charts").mkdir()
    (files_of(chat) / "charts" / "sales 1.png").write_bytes(PICTURE)
    scripted(say("See ![Sales](charts/sales%201.png) and ![far](https://example.com/x.png)."))
    send(client, chat, "draw it")
    shown = page(client, chat)
    address = f"/c/{chat.pk}/files/charts/sales%201.png"
    assert f'<img src="{address}" alt="Sales" class="picture" loading="lazy">' in shown
    assert '<a href="https://example.com/x.png"' in shown and 'src="https' not in shown
    drawn = client.get(address)
    assert (drawn.content, drawn.headers["Content-Type"]) == (PICTURE, "image/png")
    assert drawn.headers["Content-Security-Policy"] == POLICY
    assert drawn.headers["Cache-Control"] == "private, no-cache"


@pytest.mark.parametrize(
    "source",
    ["../agent.json", "a/../../x.png", "//example.com/x.png", "/etc/x.png", "x.png?y", "data:x"],
)
def test_no_other_address_becomes_a_picture(chat, source):
    scripted(say(f"See ![this]({source})."))
    send(signed_in(), chat, "draw it")
    assert "<img" not in page(signed_in(), chat).partition('id="log"')[2].partition("<form")[0]


def test_what_is_no_picture_is_not_given_out_as_one(chat):
    (files_of(chat) / "x.png").write_bytes(SVG)
    (files_of(chat) / "link.png").symlink_to("/etc/hostname")
    for path in ("x.png", "link.png", "none.png", "../agent.json"):
        assert signed_in().get(f"/c/{chat.pk}/files/{path}").status_code == 404


def test_a_message_that_waits_shows_its_files(chat):
    client = signed_in()
    scripted(silent("I am at it"))
    client.post(f"/c/{chat.pk}/say", {"text": "go on"}, headers=HTMX)
    key = upload(client, chat, "notes.txt").headers["Planside-Attachment"]
    client.post(f"/c/{chat.pk}/say", {"text": "this", "attachments": key}, headers=HTMX)
    shown = page(client, chat)
    assert "Waiting to send" in shown and 'download="notes.txt"' in shown


def test_a_message_that_waits_goes_back_into_the_box_with_its_files_or_is_discarded_with_them(chat):
    client = signed_in()
    scripted(silent("I am at it"))
    client.post(f"/c/{chat.pk}/say", {"text": "go on"}, headers=HTMX)
    key = upload(client, chat, "notes.txt").headers["Planside-Attachment"]
    for values in ({"to_box": "yes"}, {}):
        client.post(f"/c/{chat.pk}/say", {"text": "this", "attachments": key}, headers=HTMX)
        assert f'id="attachment-{key}"' not in page(client, chat)
        assert "data-takes-back" in page(client, chat)
        waiting = chat.messages.get(text="this")
        client.post(f"/c/{chat.pk}/messages/{waiting.pk}/discard", values, headers=HTMX)
        assert (f'id="attachment-{key}"' in page(client, chat)) == bool(values)
    assert not Attachment.objects.filter(pk=key).exists()
