"""The drawer's versions: what changed between any two of them, and back again."""

import re

import pytest

from plans import actions
from plans.schemas import SubtaskDraft
from tests.markup import html
from tests.world import HTMX, on_page, plan_of, proposed, signed_in, subtask_names

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def c():
    """v1 by the agent; v2 renames a subtask, v3 adds one behind the first."""
    c = proposed("Read", "Then quick", "Say")
    rename(c, "s2", "Then do it quickly")
    added = SubtaskDraft(name="Run every example", expected_outcome="All pass")
    actions.add_subtask(plan_of(c), added, "alice", after="s1")
    return c


def rename(c, key, name):
    actions.update_subtask(plan_of(c), key, {"name": name}, "alice")


def compared(c, **query):
    """The pane of versions, as the drawer fetches it."""
    answer = signed_in(c.owner).get(
        f"/c/{c.pk}/plan/versions", {"plan": plan_of(c).pk, **query}, headers=HTMX
    )
    return html(answer)


def marked(page, tag):
    return [re.sub("<[^>]*>", "", each) for each in re.findall(f"<{tag}>(.*?)</{tag}>", page)]


def test_the_newest_is_compared_with_the_one_before_it(c):
    page = compared(c)
    assert re.findall(r"<b>(v\d)</b>", page) == ["v3", "v2", "v1"]
    assert "v3 compared with" in page and '<option value="2" selected>' in page
    assert "Added as subtask 2" in page
    assert marked(page, "ins") == ["Run every example", "All pass"]
    assert "data-key" not in page, "no row of the list itself"


def test_any_two_versions_can_be_compared_and_one_be_read_alone(c):
    page = compared(c, to=3, **{"from": 1})
    assert "Edited subtask 3, was 2" in page
    assert marked(page, "del") == ["quick"]
    assert marked(page, "ins") == ["Run every example", "All pass", "do it quickly"]
    first = compared(c, to=1)
    assert "Then quick" in first and "compared with" not in first
    assert marked(first, "ins") == marked(first, "del") == []


def test_going_back_makes_the_next_version_without_asking(c):
    alice = signed_in(c.owner)
    alice.post(f"/c/{c.pk}/plan/go-back", {**on_page(c), "to": 2}, headers=HTMX)
    assert (plan_of(c).version, plan_of(c).approved_version) == (4, None)
    assert subtask_names(c) == ["Read", "Then do it quickly", "Say"]
    page = compared(c)
    assert "Went back to v2" in page and "Removed, was subtask 2" in page


def test_what_changed_since_the_yes_is_shown_first(c):
    actions.approve_plan(plan_of(c), 3, "alice", run="no")
    rename(c, "s3", "Say it aloud")
    rename(c, "s2", "Then do it")
    page = compared(c)
    assert "Since you approved v3." in page and "2 edited" in page
    assert '<option value="3" selected>' in page


def test_html_in_a_name_is_text_there_too(c):
    rename(c, "s3", '<img src=x onerror=alert(1)> {{ 7*7 }} <ins>"quoted"</ins>')
    page = compared(c)
    assert "<img" not in page and "&lt;img src=x onerror=alert(1)&gt;" in re.sub(
        "</?ins>", "", page
    )
    assert "{{ 7*7 }}" in re.sub("</?ins>", "", page)
