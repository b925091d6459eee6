"""What /clear took out of view can be read again; nothing of it reaches the model."""

import re

import pytest
from django.test import Client

from agents.models import Turn
from console import thread
from console.fragments import changes
from tests.fake_model import say
from tests.markup import flat
from tests.world import conversation, person, plan_of, proposed, scripted, tell

pytestmark = pytest.mark.django_db(transaction=True)


def page(c, query="", user=None):
    client = Client()
    client.force_login(user or c.owner)
    return client.get(f"/c/{c.pk}/{query}")


def log(c, query=""):
    html = flat(page(c, query).content.decode())
    return html.split('id="log"', 1)[1].split('class="foot"', 1)[0]


def cleared_one():
    c = proposed("Read the docs")
    scripted(say("Certainly."))
    tell(c, "before the clearing")
    tell(c, "/clear")
    return c


def test_before_a_clear_nothing_is_offered():
    c = proposed("Read")
    assert "Show what was cleared" not in log(c)
    assert 'id="cleared"' not in log(c, "?cleared=true")


def test_what_was_cleared_is_shown_above_a_divider_with_its_plan_at_each_load():
    c = cleared_one()
    assert "before the clearing" not in log(c)
    assert link(c).startswith(f"/c/{c.pk}/?cleared=true")
    for _ in range(2):
        html = log(c, "?cleared=true")
        above, _, below = html.partition('id="cleared-end"')
        assert "before the clearing" in above
        assert 'data-kind="plan"' in above
        assert "Read the docs" in above
        assert "before the clearing" not in below


def test_what_was_cleared_can_only_be_read():
    c = cleared_one()
    Turn.objects.update(state="failed")
    above = log(c, "?cleared=true").split('id="cleared-end"')[0]
    assert "hx-post" not in above
    assert "data-open-plan" not in above


def test_no_element_stands_twice_beside_what_was_said_since():
    c = cleared_one()
    scripted(say("Hello."))
    tell(c, "after it")
    html = flat(page(c, "?cleared=true").content.decode())
    ids = [part.split('"')[0] for part in html.split(' id="')[1:]]
    assert len(ids) == len(set(ids))


def test_a_long_part_comes_in_pages_without_what_was_said_since(monkeypatch):
    c = conversation()
    for text in ("first", "second", "third"):
        scripted(say("Yes."))
        tell(c, text)
    tell(c, "/clear")
    monkeypatch.setattr(thread, "SHOWN", 2)
    html = log(c, "?cleared=true")
    assert "first" not in html
    client = Client()
    client.force_login(c.owner)
    address = html.split('id="earlier-cleared" hx-get="')[1].split('"')[0].replace("&amp;", "&")
    assert 'hx-target="#earlier-cleared"' in (more := flat(client.get(address).content.decode()))
    assert "second" in more


def test_the_models_context_stays_cleared():
    c = cleared_one()
    page(c, "?cleared=true")
    model = scripted(say("Hello."))
    tell(c, "after it")
    assert "before the clearing" not in str(model.requests)


def test_another_clear_takes_the_shown_part_away():
    c = cleared_one()
    c.refresh_from_db()
    after = c.seq
    tell(c, "/clear")
    assert 'hx-target="#cleared" hx-swap="delete"' in changes(c.pk, after)[1]


def link(c):
    """Where "Show what was cleared" leads."""
    return re.search(r'href="([^"]*)">Show what was cleared', log(c))[1]


def test_after_another_clear_the_link_leads_to_another_address():
    """To the address that is shown already, a browser only scrolls."""
    c = cleared_one()
    before = link(c)
    tell(c, "/clear")
    c.refresh_from_db()
    assert link(c) != before
    assert "before the clearing" in flat(
        page(c, link(c).partition(f"/c/{c.pk}/")[2]).content.decode()
    )


def test_somebody_else_sees_nothing_of_it():
    c = cleared_one()
    assert page(c, "?cleared=true", person("bob")).status_code == 404


def test_the_plan_that_was_cleared_is_still_there():
    c = proposed("Read")
    plan = plan_of(c)
    tell(c, "/clear")
    assert plan.title in log(c, "?cleared=true")
