"""Which language a person reads, page, scripts and live changes alike."""

import json
import re
from functools import cache
from io import BytesIO

import pytest
from babel.messages.catalog import Catalog
from babel.messages.mofile import write_mo
from django.urls import reverse
from django.utils import translation
from django.utils.html import strip_tags

from agents.errors import Conflict
from agents.models import Turn
from plans.actions import approve_plan, cancel_plan
from tests import messages
from tests.inner import (
    COUNTED,
    TITLES,
    UNANSWERED,
    WRITING,
    Endpoint,
    ModelRequest,
    cached,
    drawn_in,
    lint,
    read_agent,
    render,
    set_preferences,
    text_and_standing,
    unreachable,
    workspaces,
)
from tests.markup import html
from tests.world import agent, conversation, done, drive, person, plan_of, proposed, scripted, tell

pytestmark = pytest.mark.django_db

# Esperanto stands for any other language: each text in brackets.
OTHER = "eo"


@pytest.fixture
def translated(settings, tmp_path):
    """Every text of the product has a translation that can be told from it."""
    for domain in messages.DOMAINS:
        path = tmp_path / OTHER / "LC_MESSAGES" / f"{domain}.mo"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(catalog_of(domain))
    settings.LOCALE_PATHS = [tmp_path]
    settings.LANGUAGES = [("en", "English"), (OTHER, "Esperanto")]
    forget()
    yield
    forget()


@cache
def catalog_of(domain):
    """All texts of the source are looked up for it, which takes seconds."""
    catalog = Catalog(OTHER)
    for _, _, text, context in messages.texts_of(domain):
        forms = tuple(map(bracketed, text)) if isinstance(text, tuple) else bracketed(text)
        catalog.add(text, forms, context=context)
    compiled = BytesIO()
    write_mo(compiled, catalog)
    return compiled.getvalue()


def forget():
    translation.trans_real._translations.clear()
    translation.trans_real.get_languages.cache_clear()


def bracketed(text):
    return f"⟦{text}⟧"


def other(**more):
    return {"Accept-Language": "eo,en;q=0.5", **more}


@pytest.mark.usefixtures("translated")
class TestPages:
    def test_a_page_is_in_the_first_language_of_the_browser_that_we_have(self, alice):
        c = proposed("Read", "Write")
        page = alice.get(f"/c/{c.pk}/", headers={"Accept-Language": "tlh, eo;q=0.8, en;q=0.5"})
        assert '<html lang="eo"' in html(page) and "⟦2 subtasks⟧" in html(page)
        assert f"&amp;language={OTHER}" in html(page), "what comes over the socket follows"
        assert "Accept-Language" in page["Vary"]

    def test_every_page_of_the_settings_is_called_in_its_language(self, alice):
        for name, title in TITLES.items():
            page = alice.get(reverse(name), headers=other())
            if name == "people":  # for admins alone
                assert page.status_code == 404
                continue
            with translation.override(OTHER):
                assert f"<h1>{title}</h1>" in html(page) and f"<title>{title}" in html(page)

    def test_what_a_person_chose_goes_before_their_browser(self, alice):
        set_preferences(person("alice"), language="en")
        assert '<html lang="en"' in html(alice.get("/settings/agents/", headers=other()))

    def test_a_choice_that_is_not_ours_any_more_counts_for_nothing(self, alice):
        set_preferences(person("alice"), language="xx")
        assert '<html lang="eo"' in html(alice.get("/settings/agents/", headers=other()))

    def test_what_a_page_asks_for_afterwards_is_in_the_language_of_the_page(self, alice):
        set_preferences(person("alice"), language="en")
        c = proposed("Read", "Write")
        drawer = alice.get(f"/c/{c.pk}/drawer", headers=other(**{"Sec-Fetch-Mode": "cors"}))
        assert "⟦2 subtasks⟧" in html(drawer)

    def test_scripts_that_ask_the_api_read_english(self, alice):
        answer = alice.get("/api/conversations/999999999", headers=other())
        assert "⟦" not in html(answer) and "Content-Language" not in answer

    def test_a_page_in_english_loads_no_catalog(self, alice):
        assert "/texts/" not in html(alice.get("/settings/agents/"))

    def test_the_texts_of_the_scripts_are_kept_for_a_year(self, alice):
        page = html(alice.get("/settings/agents/", headers=other()))
        address = re.search(r'src="(/texts/[0-9a-f]+/eo.js)"', page)[1]
        assert alice.get(address, headers={"Accept-Encoding": "gzip"})["Content-Encoding"] == "gzip"
        answer = alice.get(address)
        assert "globalThis.django" in html(answer) and "max-age=31536000" in answer["Cache-Control"]

    def test_what_was_drawn_in_one_language_is_not_shown_in_another(self, alice):
        c = proposed("Read", "Write")
        for language, words in ("eo", "⟦2 subtasks⟧"), ("en", "2 subtasks"), ("eo", "⟦2 subtasks⟧"):
            page = html(alice.get(f"/c/{c.pk}/", headers={"Accept-Language": language}))
            assert words in page and ("⟦" in page) == (language == "eo")


def test_what_is_remembered_is_remembered_for_each_language(translated):
    drawn = []

    @cached(10)
    def draw(number):
        drawn.append(number)
        return translation.get_language()

    answers = [drawn_in(language, draw, 1) for language in ("en", OTHER, "en", OTHER)]
    assert answers == ["en", OTHER, "en", OTHER] and drawn == [1, 1]


def test_what_was_drawn_of_a_reply_is_remembered_for_each_language(translated):
    for language, label in ("en", "Table"), (OTHER, "⟦Table⟧"), ("en", "Table"):
        assert f'aria-label="{label}"' in drawn_in(language, render, "| a |\n|---|\n| 1 |")


def test_labels_that_a_module_keeps_are_in_the_language_of_whoever_reads_them(translated):
    for label in (WRITING, UNANSWERED):
        for words in (label.word, label.words, label.brief):
            assert drawn_in(OTHER, str, words).startswith("⟦")
            assert not drawn_in("en", str, words).startswith("⟦")


def test_a_language_that_nobody_has_is_english(translated):
    assert drawn_in("tlh", translation.get_language) == "en"


def test_a_run_goes_on_in_the_language_in_which_it_was_approved(translated):
    c = proposed("Read", "Write")
    with translation.override(OTHER):
        approve_plan(plan_of(c), 1, "alice", run="all")
    scripted(done(), done(), "All done.")
    drive()
    turns = Turn.objects.filter(conversation=c).order_by("pk")
    assert [turn.language for turn in turns] == ["en", OTHER, OTHER, OTHER]


def read_by_two(read):
    """What an English reader gets, and one of another language, and an English one again."""
    answers = []
    for language in ("en", OTHER, "en"):
        with translation.override(language):
            answers.append(read())
    return answers


@pytest.mark.usefixtures("translated")
class TestWhatIsWrong:
    """What was found wrong for one reader is said to each in their own language."""

    def test_why_something_was_refused(self):
        plan = plan_of(proposed("Read"))

        def refused():
            with pytest.raises(Conflict) as caught:
                approve_plan(plan, 7, "alice")
            return str(caught.value)

        english, other, again = read_by_two(refused)
        assert english == again and other.startswith("⟦The plan is now v1")

    def test_with_an_agents_file(self):
        path = workspaces.agent_path(agent())
        path.write_text("{")
        english, other, again = read_by_two(lambda: read_agent(path.parent.name).problem)
        assert english == again
        assert english.startswith("Line 1: the file ends too early; a closing bracket is missing.")
        assert other.count("⟦") == 3

    def test_with_a_chain(self):
        chain = json.dumps({"id": "x", "tasks": [{"id": "end", "handler": "noop"}]})
        english, other, again = read_by_two(lambda: lint(chain)[0].sentence)
        assert english == again == "A task cannot be called end."
        assert other == "⟦A task cannot be called end.⟧"

    def test_with_a_model_that_does_not_answer(self):
        request = ModelRequest(Endpoint("mine", "http://127.0.0.1:9/v1"), "m", [])
        english, other, _ = read_by_two(lambda: unreachable(request))
        assert english.detail == "http://127.0.0.1:9/v1 does not answer."
        assert other.detail == f"⟦{english.detail}⟧" and "⟦" in other.sentence + other.advice
        assert english.remedy == other.remedy == "models", "it is not read out of the words"


@pytest.mark.usefixtures("translated")
@pytest.mark.parametrize("asked", ["en", OTHER])
@pytest.mark.parametrize("read", ["en", OTHER])
def test_a_turn_that_fails_says_so_in_the_language_of_whoever_reads_it(asked, read):
    c = conversation()
    scripted({"status": 401, "body": "no"})
    with translation.override(asked):
        tell(c, "Hello")
    drive()
    with translation.override(read):
        [error] = c.messages.filter(kind="error")
    title, mark = error.meta["title"], "⟦" * (read == OTHER)
    assert title.startswith(f"{mark}The model") and error.meta["remedy"] == "models"
    assert error.text.startswith(mark) and error.text.count("⟦") == len(mark)


@pytest.mark.usefixtures("translated")
def test_a_model_reads_english_of_how_a_plan_stands():
    c = proposed("Read")
    cancel_plan(plan_of(c), "alice")
    with translation.override(OTHER):
        assert text_and_standing(plan_of(c)).endswith("v1 is cancelled.")


def test_everything_that_templates_count_can_be_counted_in_any_language():
    counted = set()
    for path in (messages.ROOT / "templates").rglob("*.html"):
        counted |= set(re.findall(r"""\|plural:["']([^"']+)["']""", path.read_text()))
    assert counted == set(COUNTED), "see console/templatetags/languages.py"


PAGES = [f"/settings/{name}/" for name in TITLES] + ["/plans/?q=zebra", "/needs/", "/archive/"]


@pytest.mark.parametrize("path", PAGES)
def test_chinese_sentences_follow_each_other_without_a_space(alice, path):
    page = html(alice.get(path, headers={"accept-language": "zh-CN"}))
    paragraphs = re.findall(r"<p\b[^>]*>(.*?)</p>", page, re.DOTALL)
    texts = [" ".join(strip_tags(each).split()) for each in paragraphs]
    assert texts and [text for text in texts if re.search(r"[。！？；] \S", text)] == []


def test_chinese_speaks_to_the_reader_by_one_word():
    texts = (messages.ROOT / "console/locale/zh_Hans").rglob("*.po")
    assert [path.name for path in texts if "您" in path.read_text()] == []
