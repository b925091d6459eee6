"""Settings > Appearance: drawn by the server into every page, for whoever chose it."""

import pytest
from django.test import Client

from agents.models import Preferences
from console.preferences import preferences_of, set_preferences
from tests.world import HTMX, person, signed_in

pytestmark = pytest.mark.django_db(transaction=True)

CHOSEN = {"theme": "dark", "text_size": "130", "density": "compact", "lists_keys": "on"}
PAGES = ["/plans/", "/settings/appearance/", "/settings/account/", "/settings/models/", "/c/none/"]


def do(client, **values):
    return client.post("/settings/appearance/set", CHOSEN | values, headers=HTMX)


@pytest.mark.parametrize("path", PAGES)
def test_what_was_chosen_is_in_the_page_before_any_script(path):
    alice = signed_in(person("alice"))
    assert do(alice).status_code == 200
    page = alice.get(path).content.decode()
    head = page.partition("<body")[0]
    assert 'data-theme="dark"' in head
    assert 'data-text-size="130"' in head
    assert 'data-density="compact"' in head
    assert "data-lists-keys" in head
    assert 'content="dark"' in head


def test_it_is_one_persons_and_nobody_elses():
    do(signed_in(person("alice")))
    for other in (signed_in(person("bob")), Client()):
        head = other.get("/plans/", follow=True).content.decode().partition("<body")[0]
        assert 'data-theme="system"' in head
        assert 'content="light dark"' in head


@pytest.mark.parametrize(
    "values", [{"theme": "pink"}, {"text_size": "500"}, {"text_size": "x"}, {"density": ""}]
)
def test_what_cannot_be_chosen_changes_nothing(values):
    alice = person("alice")
    answer = do(signed_in(alice), **values)
    assert answer.status_code == 422
    assert not Preferences.objects.exists()


def test_a_switch_that_is_off_is_not_sent():
    alice = person("alice")
    client = signed_in(alice)
    client.post(
        "/settings/appearance/set",
        {"theme": "light", "text_size": "100", "density": "comfortable"},
        headers=HTMX,
    )
    assert not preferences_of(alice.pk).lists_keys
    assert "data-lists-keys" not in client.get("/plans/").content.decode()


def test_what_is_chosen_elsewhere_stays():
    alice = person("alice")
    set_preferences(alice, sounds=True)
    do(signed_in(alice))
    assert preferences_of(alice.pk).sounds
