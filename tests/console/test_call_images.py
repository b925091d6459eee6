"""Images that tools returned: drawn with their call, and served to nobody but the owner."""

import pytest
from django.test import Client

from agents.models import Attachment, ToolCall
from plans.models import Attempt
from tests.fake_model import call, say
from tests.images import png
from tests.inner import create_token
from tests.markup import html
from tests.world import conversation, person, plan_of, proposal, scripted, tell

pytestmark = pytest.mark.django_db(transaction=True)

SVG = b"<svg xmlns='http://www.w3.org/2000/svg'><script>alert(1)</script></svg>"
POLICY = "default-src 'none'; frame-ancestors 'none'; sandbox"


def shown(c, *datas, kind="image/png", **size):
    """The last call of the conversation, with these images as they are kept."""
    made = ToolCall.objects.filter(turn__conversation=c, tool="list_files").last()
    kept = [Attachment.objects.create(conversation=c, media_type=kind, data=data) for data in datas]
    made.images = [
        {"attachment": each.pk, "media_type": kind, "size": len(each.data), **size} for each in kept
    ]
    made.save()
    return made


@pytest.fixture
def chat():
    c = conversation(plan={"enabled": False})
    scripted(call("list_files"), say("There."))
    tell(c, "look")
    return c


def signed_in(name="alice"):
    client = Client()
    client.force_login(person(name))
    return client


def test_an_image_is_drawn_below_its_call_small_lazily_and_opens_at_full_size(chat):
    made = shown(chat, png(640, 480), png(640, 480), width=640, height=480)
    page = html(signed_in().get(f"/c/{chat.pk}/"))
    for number in (1, 2):
        address = f"/api/tool-calls/{made.pk}/images/{number}"
        assert f'<a href="{address}" target="_blank" rel="noopener"' in page
        assert f'src="{address}"' in page
        assert f'alt="Image {number} of 2 from list_files, 640 × 480 pixels"' in page
    assert page.count('loading="lazy"') == 2


def test_an_image_that_was_kept_before_its_size_was_read_is_drawn_too(chat):
    shown(chat, png(3, 2))
    page = html(signed_in().get(f"/c/{chat.pk}/"))
    assert 'alt="Image 1 of 1 from list_files"' in page
    assert 'width="None"' not in page


def test_its_bytes_come_as_they_are_with_heads_that_let_nothing_run(chat):
    made = shown(chat, png(3, 2), kind="text/html")
    answer = signed_in().get(f"/api/tool-calls/{made.pk}/images/1")
    assert (answer.status_code, answer.content) == (200, png(3, 2))
    assert answer["Content-Type"] == "image/png"
    assert answer["X-Content-Type-Options"] == "nosniff"
    assert answer["Content-Security-Policy"] == POLICY
    assert answer["Cross-Origin-Resource-Policy"] == "same-origin"
    assert answer["Cache-Control"] == "private, max-age=31536000, immutable"
    assert {"Cookie", "Authorization"} <= {word.strip() for word in answer["Vary"].split(",")}
    assert answer["Content-Disposition"] == f'inline; filename="call-{made.pk}-1.png"'


@pytest.mark.parametrize("data", [SVG, b"<html><script>1</script>", b"", png(100_000, 100_000)])
def test_what_is_no_image_that_is_shown_is_not_served_whatever_was_kept(chat, data):
    made = shown(chat, data)
    answer = signed_in().get(f"/api/tool-calls/{made.pk}/images/1")
    assert answer.status_code == 404
    assert answer.json()["detail"].startswith("This is no image that is shown. It is not shown:")


def test_nobody_else_gets_it_and_a_number_that_is_not_there_is_not_there(chat):
    made = shown(chat, png(3, 2))
    address = f"/api/tool-calls/{made.pk}/images"
    assert signed_in("bob").get(f"{address}/1").status_code == 404
    assert Client().get(f"{address}/1").status_code == 401
    for number in (0, -1, 2, 10**30):
        assert signed_in().get(f"{address}/{number}").status_code in (404, 422)
    token = create_token(person("alice"), "script")
    script = Client(headers={"Authorization": f"Bearer {token}"})
    assert script.get(f"{address}/1").status_code == 200


def test_another_conversations_attachment_is_not_served_for_a_call(chat):
    made = shown(chat, png(3, 2))
    Attachment.objects.update(conversation=conversation("bob"))
    assert signed_in().get(f"/api/tool-calls/{made.pk}/images/1").status_code == 404


def test_the_api_names_the_images_of_a_call_with_their_address(chat):
    made = shown(chat, png(640, 480), width=640, height=480)
    listed = signed_in().get(f"/api/conversations/{chat.pk}/messages").json()["items"]
    [[image]] = [each["images"] for message in listed for each in message["tool_calls"]]
    assert image == {
        "url": f"/api/tool-calls/{made.pk}/images/1",
        "media_type": "image/png",
        "size": len(png(640, 480)),
        "width": 640,
        "height": 480,
    }


def test_the_plans_page_and_its_export_have_those_of_a_subtask():
    c = conversation()
    scripted(
        proposal("Look"),
        say("Here it is."),
        call("list_files"),
        call("finish_subtask", outcome="Seen."),
        call("finish_plan", state="done", outcome="Seen."),
    )
    tell(c, "/plan look")
    tell(c, "go")
    made, plan = shown(c, png(3, 2), width=3, height=2), plan_of(c)
    attempt = Attempt.objects.get(subtask__plan=plan)
    client, address = signed_in(), f"/api/tool-calls/{made.pk}/images/1"
    unfolded = client.get(
        f"/plans/{plan.pk}/attempts/{attempt.pk}/", headers={"HX-Request": "true"}
    )
    assert f'src="{address}"' in html(unfolded)
    line = f"- [Image 1 of 1 from list_files, 3 × 2 pixels](http://testserver{address})"
    for export in (f"/plans/{plan.pk}/export.md", f"/api/plans/{plan.pk}/export.md"):
        assert f"  *Images:*\n\n  {line}\n" in client.get(export).content.decode()
