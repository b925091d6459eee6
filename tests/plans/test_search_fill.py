"""What was said and planned before there was a search is found after the migrations."""

from importlib import import_module
from types import SimpleNamespace

import pytest
from django.apps import apps
from django.db import connection

from agents.models import SearchEntry
from tests.fake_model import say
from tests.inner import Kind, find
from tests.inner import words_question_of as question_of
from tests.world import conversation, person, proposed, scripted, tell

pytestmark = pytest.mark.django_db(transaction=True)
EDITOR = SimpleNamespace(connection=connection)


def fill():
    import_module("agents.migrations.0025_what_was_said_is_found").fill(apps, EDITOR)
    import_module("plans.migrations.0007_plans_are_found").fill(apps, EDITOR)


def words_by_entry():
    rows = SearchEntry.objects.values_list("conversation", "message", "plan", "words")
    return {row[:3]: sorted(row[3].replace("'", "").split()) for row in rows}


def test_the_migrations_fill_in_what_writing_would_have():
    proposed("Write the webhook sections")
    c = conversation()
    scripted(say("我们的数据库"))
    tell(c, "Where is the database?")
    written = words_by_entry()
    SearchEntry.objects.all().delete()
    assert find(person().pk, Kind.MESSAGE, question_of("database"), 10) == []
    fill()
    assert words_by_entry() == written
    for kind, words in ((Kind.MESSAGE, "数据库"), (Kind.PLAN, "webhook"), (Kind.TITLE, "where")):
        assert len(find(person().pk, kind, question_of(words), 10)) == 1, words


def test_a_fill_that_was_broken_off_goes_on_where_it_was():
    c = conversation()
    scripted(say("Here."))
    tell(c, "Where is it?")
    before = SearchEntry.objects.count()
    SearchEntry.objects.order_by("pk").last().delete()
    fill()
    assert SearchEntry.objects.count() == before
