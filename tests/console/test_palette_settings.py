"""Settings that Ctrl K finds: each leads to a place that is there, under words of its page."""

import pytest
from django.test import Client
from django.urls import reverse

from tests.inner import PALETTE_SETTINGS as SETTINGS
from tests.inner import results
from tests.world import person

pytestmark = pytest.mark.django_db


@pytest.mark.parametrize("name", sorted({name for name, _, _ in SETTINGS}))
def test_each_setting_that_is_found_stands_on_its_page(name):
    client = Client()
    client.force_login(person())
    page = client.get(reverse(name)).content.decode()
    for wanted, title, place in SETTINGS:
        if wanted == name:
            assert f'id="{place}"' in page, title


@pytest.mark.parametrize(
    ("words", "place"),
    [("dark", "setting-theme"), ("compact", "setting-density"), ("sound", "sounds")],
)
def test_a_setting_is_found_by_a_word_for_it(words, place):
    groups = results(person(), words, "", None).groups
    assert any(row.href.endswith(f"#{place}") for group in groups for row in group.rows)


def test_with_nothing_typed_needs_you_comes_first():
    [_, offered] = results(person(), "", "", None).groups
    assert [row.href for row in offered.rows[:2]] == [reverse("needs"), reverse("plans")]
