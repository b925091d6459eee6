"""What a person wants of the pages: kept for the person, and read once."""

import pytest
from django.contrib.auth.models import AnonymousUser
from django.test import RequestFactory

from agents.models import Preferences
from tests import world
from tests.inner import in_templates, preferences, preferences_of, set_preferences

pytestmark = pytest.mark.django_db


def request_of(user):
    request = RequestFactory().get("/")
    request.user = user
    return request


def test_who_has_set_nothing_has_the_defaults_and_no_row():
    alice = world.person("alice")
    assert preferences_of(alice.pk).tells_needs
    assert not preferences_of(alice.pk).sounds
    assert not Preferences.objects.exists()


def test_what_is_not_named_stays_as_it_was():
    alice = world.person("alice")
    set_preferences(alice, tells_replies=True)
    set_preferences(alice, sounds=True)
    read = preferences_of(alice.pk)
    assert (read.tells_replies, read.sounds, read.tells_needs) == (True, True, True)


def test_a_person_does_not_get_anothers():
    alice, bob = world.person("alice"), world.person("bob")
    set_preferences(alice, counts_in_title=False)
    assert preferences_of(bob.pk).counts_in_title


def test_a_request_reads_them_once_and_only_if_they_are_asked_for(django_assert_num_queries):
    request = request_of(world.person("alice"))
    with django_assert_num_queries(0):
        lazy = in_templates(request)["preferences"]
    with django_assert_num_queries(1):
        assert lazy.tells_needs
        assert preferences(request).tells_needs


def test_nobody_has_the_defaults(django_assert_num_queries):
    with django_assert_num_queries(0):
        assert preferences(request_of(AnonymousUser())).tells_needs
