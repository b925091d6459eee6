"""The page of what was changed, as the server draws it: what is folded, and what was taken back."""

import re

import pytest

from agents.models import Recording
from plans import actions
from tests.fake_model import call, say
from tests.images import png
from tests.inner import MOST_DRAWN, Scope, Wanted
from tests.markup import flat
from tests.world import (
    ALL_FILE_TOOLS,
    conversation,
    done,
    drive,
    files_of,
    plan_of,
    proposed,
    scripted,
    signed_in,
    tell,
)

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("own_home")]


def worked(*commands, files=()):
    """The conversation of a plan whose only subtask ran these commands."""
    chat = proposed("Write", tools={**ALL_FILE_TOOLS, "shell": "allow"})
    type(chat.owner).objects.update(is_superuser=True)
    for name, content in files:
        (files_of(chat) / name).write_bytes(content)
    calls = [call("shell", command=each) for each in commands]
    scripted(*calls, done(), say("All done."))
    actions.approve_plan(plan_of(chat), 1, "alice", run="all")
    drive()
    return chat


def test_of_many_files_a_picture_comes_when_it_is_unfolded_like_the_others():
    many = "; ".join(f"echo {n} > {n:02}.txt" for n in range(MOST_DRAWN + 1))
    chat = worked(f"{many}; cp old.png new.png", files=[("old.png", png(2, 2, [(1, 2, 3)]))])
    alice = signed_in(chat.owner)
    page = alice.get(f"/c/{chat.pk}/changed?plan={plan_of(chat).pk}").content.decode()
    [picture] = [
        each
        for each in re.findall(r'<details\s+class="changed".*?</details>', page, re.S)
        if "new.png" in each
    ]
    assert "shown line by line" not in picture
    address = re.search(r'data-fetches="([^"]+)"', picture)[1].replace("&amp;", "&")
    assert "<img" in alice.get(address).content.decode()


def test_the_thread_says_of_a_subtask_that_its_changes_were_undone():
    chat = worked("echo 1 > a.txt")
    alice = signed_in(chat.owner)

    def head():
        page = flat(alice.get(f"/c/{chat.pk}/").content.decode())
        return page.split('<details class="turn-group"', 1)[1].split("</summary>", 1)[0]

    assert "1 file, +1" in head()
    row = actions.undo_changes(Scope.named(plan_of(chat), "s1"), "alice")
    assert "No changes left, undone by you" in head()
    actions.undo_changes(Scope(row), "alice")
    assert "1 file, +1" in head() and "undone" not in head()


def test_a_plan_that_was_undone_says_so_and_can_be_put_back_or_done_again():
    chat = worked("echo 1 > a.txt")
    alice = signed_in(chat.owner)

    def drawer():
        return flat(alice.get(f"/c/{chat.pk}/").content.decode()).split('id="plan-head"', 1)[1]

    assert "Put the changes back" not in drawer()
    actions.undo_changes(Scope(plan_of(chat)), "alice")
    said = drawer()
    assert "Undone by you at" in said and "1 file is as at" in said and "1 file, +1" in said
    assert "Retry subtask 1" in said
    back = re.search(r'id="put-back".*?hx-post="([^"]+)"', said)
    assert alice.post(back[1], headers={"HX-Request": "true"}).status_code == 200
    assert (files_of(chat) / "a.txt").exists() and "Put the changes back" not in drawer()
    actions.undo_changes(Scope(plan_of(chat)), "alice")
    scripted(call("shell", command="echo 2 > a.txt"), done(), say("All done."))
    actions.retry_subtask(plan_of(chat), "s1", "alice", 1)
    drive()
    assert (files_of(chat) / "a.txt").read_text() == "2\n"
    assert "Put the changes back" not in drawer()


def test_the_page_of_changes_says_what_was_undone_and_offers_that_no_more():
    chat = worked("echo 1 > a.txt; echo 2 > b.txt")
    alice, plan = signed_in(chat.owner), plan_of(chat)

    def page():
        return flat(alice.get(f"/c/{chat.pk}/changed?plan={plan.pk}").content.decode())

    assert "undone by you" not in page() and 'id="undo-button"' in page()
    part = actions.undo_changes(Scope.named(plan, "s1"), "alice", Wanted(paths=("a.txt",)))
    assert (
        'Partly undone by you. These files are as they were before: <span class="mono">a.txt<'
        in page()
    )
    assert 'id="undo-button"' in page()
    row = actions.undo_changes(Scope.named(plan, "s1"), "alice")
    assert "No changes left, undone by you at" in page() and 'id="undo-button"' not in page()
    actions.undo_changes(Scope(row), "alice")
    actions.undo_changes(Scope(part), "alice")
    assert "undone by you" not in page() and 'id="undo-button"' in page()


def test_a_link_is_shown_as_one_with_where_it_leads():
    chat = worked("ln -s /etc/passwd out; ln -s one other; ln -sfn two other; echo x > plain")
    page = signed_in(chat.owner).get(f"/c/{chat.pk}/changed?plan={plan_of(chat).pk}")
    html = flat(page.content.decode())
    assert "new link" in html and "A link to /etc/passwd." in html and "A link to two." in html
    lines = re.search(
        r'id="file-\d+-body">(?:(?!id="file).)*A link to /etc/passwd.*?</details>', html
    )
    assert "file-diff" not in lines[0]


def test_the_thread_says_of_a_reply_that_its_changes_were_undone():
    chat = conversation(tools=ALL_FILE_TOOLS, plan={"enabled": False})
    scripted(call("write_file", path="a.txt", content="its\n"), say("ok"))
    tell(chat, "write")
    turn = Recording.objects.get().turn
    alice = signed_in(chat.owner)

    def link():
        page = flat(alice.get(f"/c/{chat.pk}/").content.decode())
        return re.search(r'<a class="change-link".*?</a>', page)[0]

    assert "1 file, +1" in link()
    row = actions.undo_changes(Scope(turn), "alice")
    assert "No changes left, undone by you" in link()
    again = actions.undo_changes(Scope(row), "alice")
    assert "1 file, +1" in link() and "undone" not in link()
    actions.undo_changes(Scope(again), "alice")
    assert "No changes left, undone by you" in link()


def test_an_open_page_hears_of_an_undo_and_that_it_was_undone():
    chat = worked("echo 1 > a.txt")
    alice = signed_in(chat.owner)
    turn = Recording.objects.get(files=1).turn_id

    def head(after):
        news = flat(alice.get(f"/c/{chat.pk}/changes?after={after}").content.decode())
        return news.split(f'<summary id="turn-{turn}-head"', 1)[1].split("</summary>", 1)[0]

    chat.refresh_from_db()
    before = chat.seq
    row = actions.undo_changes(Scope.named(plan_of(chat), "s1"), "alice")
    assert "No changes left, undone by you" in head(before)
    chat.refresh_from_db()
    before = chat.seq
    actions.undo_changes(Scope(row), "alice")
    assert "1 file, +1" in head(before)
