"""Every field of every verb and form, where tests/security/test_bodies.py sends each field once."""

import pytest

from tests.security import test_bodies as bodies

pytestmark = pytest.mark.django_db(transaction=True)

world, alice, bob = bodies.world, bodies.alice, bodies.bob
elsewhere, inside, watched = bodies.elsewhere, bodies.inside, bodies.watched


def test_no_field_of_the_api_gets_at_what_is_someone_elses(watched):
    assert bodies.tried_at_someone_elses(watched, bodies.Always()) > 300


def test_no_field_of_the_api_gives_an_ordinary_person_more_for_his_own(watched):
    assert bodies.tried_for_his_own(watched, bodies.Always()) > 120


def test_no_field_of_a_form_gets_at_anything(watched, monkeypatch):
    assert bodies.tried_in_forms(watched, monkeypatch, bodies.Always()) > 100
