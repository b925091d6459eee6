"""Settings > Appearance: drawn by the server into every page, for whoever chose it."""

import re

import pytest
from django.test import Client

from agents.models import Preferences
from tests.inner import preferences_of, set_preferences
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


CHINESE = {"Accept-Language": "zh-CN,zh;q=0.9,en;q=0.8"}


def speak(client, language, **headers):
    values = {"language": language}
    return client.post("/settings/appearance/language", values, headers=HTMX | headers)


class TestLanguage:
    def test_each_language_is_named_in_itself_and_the_browsers_counts_at_first(self):
        page = signed_in(person("alice")).get("/settings/appearance/").content.decode()
        row = page.partition('id="appearance-language"')[2]
        labels = re.findall(r"<label ?(lang=\"[\w-]+\")?>.*?</label>", row, re.DOTALL)
        assert labels == ["", 'lang="en"', 'lang="zh-hans"']
        assert "As the browser" in row and "English" in row and "简体中文" in row
        assert re.findall(r'value="([\w-]*)"\s+checked', row) == [""]

    def test_what_is_chosen_counts_for_every_page_whatever_the_browser_asks_for(self):
        alice = person("alice")
        client = signed_in(alice)
        assert speak(client, "zh-hans").headers["HX-Redirect"] == "/settings/appearance/?language"
        for path in ("/plans/", "/settings/appearance/?language"):
            assert 'lang="zh-hans"' in client.get(path).content.decode().partition("<head")[0]
        speak(client, "en", **CHINESE)
        assert 'lang="en"' in client.get("/plans/", headers=CHINESE).content.decode()[:200]
        assert preferences_of(alice.pk).language == "en"

    def test_back_to_the_browsers_language(self):
        client = signed_in(person("alice"))
        speak(client, "en")
        assert "HX-Redirect" in speak(client, "")
        page = client.get("/settings/appearance/?language", headers=CHINESE).content.decode()
        assert 'lang="zh-hans"' in page[:200]
        checked = page.partition('id="appearance-language"')[2].partition("checked")
        assert 'value=""' in checked[0][-60:] and checked[2].split()[0] == "autofocus"

    def test_the_language_that_the_page_is_in_already_loads_nothing_anew(self):
        answer = speak(signed_in(person("alice")), "en")
        assert "HX-Redirect" not in answer.headers and "Saved." in answer.content.decode()

    def test_another_choice_leaves_the_language(self):
        alice = person("alice")
        client = signed_in(alice)
        speak(client, "zh-hans")
        assert do(client).status_code == 200
        assert preferences_of(alice.pk).language == "zh-hans"

    @pytest.mark.parametrize("values", [{}, {"language": "tlh"}, {"language": "zh"}])
    def test_a_language_that_there_is_not_is_refused(self, values):
        client = signed_in(person("alice"))
        answer = client.post("/settings/appearance/language", values, headers=HTMX)
        assert answer.status_code == 422 and "language-alert" in answer.content.decode()
        assert not Preferences.objects.exists()

    @pytest.mark.parametrize(
        ("asked_for", "drawn"),
        [
            *((each, "zh-hans") for each in ("zh", "zh-CN", "zh-Hans", "zh-Hans-CN", "zh-SG")),
            *(
                (each, "zh-hans") for each in ("zh-TW", "zh-HK", "zh-Hant-TW")
            ),  # nearer than English
            ("de, zh;q=0.5", "zh-hans"),
            ("en-US,en;q=0.9,zh-CN;q=0.8", "en"),
            ("de-CH", "en"),
            ("", "en"),
        ],
    )
    def test_who_has_not_signed_in_reads_what_the_browser_asks_for(self, asked_for, drawn):
        page = Client().get("/signin/", headers={"Accept-Language": asked_for})
        assert f'lang="{drawn}"' in page.content.decode()[:200]
        assert "Accept-Language" in page["Vary"]
