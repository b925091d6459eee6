"""What a server refused is known to every process, after a restart, for a week, and to people."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from django.test import Client
from django.utils import timezone

from agents.models import ModelLesson
from tests.fake_model import ScriptedTransport, fails, say
from tests.inner import LESSONS_MOST_KEPT as MOST_KEPT
from tests.inner import ProviderEdit, add_provider, change_provider, lessons_for, remember, resolve
from tests.markup import html
from tests.world import HTMX, conversation, person, scripted, tell

pytestmark = pytest.mark.django_db(transaction=True)

URL = "http://strict.invalid/v1"
WORDS = "Unsupported parameter: 'temperature' is not supported with this model."


@pytest.fixture
def strict() -> str:
    add_provider("strict", ProviderEdit(base_url=URL, key="sk-1"), "alice")
    return "strict"


def refusing(name: str = "temperature", words: str = WORDS) -> Any:
    """A model that refuses every request with this parameter."""

    def answer(asked: dict[str, Any]) -> Any:
        error = {"message": words, "param": name, "code": "unsupported_parameter"}
        return fails(400, body={"error": error}) if name in asked else say("Hello.")

    return scripted(answer)


def talk(provider: str = "strict", model: str = "m") -> None:
    tell(conversation(provider=provider, model=model, temperature=0.5), "Hello")


def refused(model: ScriptedTransport) -> int:
    return sum("temperature" in asked for asked in model.requests)


def test_a_refusal_costs_one_request_and_not_one_each_time(strict: str) -> None:
    model = refusing()
    for _ in range(3):
        talk()
    assert (len(model.requests), refused(model)) == (4, 1)
    talk(model="another")
    assert refused(model) == 2, "each model has its own"


def test_it_is_read_from_the_rows_as_another_process_would(strict: str) -> None:
    row = {"provider": "strict", "address": URL, "model": "m", "kind": "without"}
    ModelLesson.objects.create(**row, value="temperature", learnt_at=timezone.now())
    model = refusing()
    talk()
    assert (len(model.requests), refused(model)) == (1, 0)


def test_after_a_week_it_is_tried_again_and_kept_anew(strict: str) -> None:
    model = refusing()
    talk()
    ModelLesson.objects.update(learnt_at=timezone.now() - timedelta(days=7, seconds=1))
    talk()
    assert refused(model) == 2
    assert ModelLesson.objects.get().learnt_at > timezone.now() - timedelta(minutes=1)


def test_an_edited_provider_is_asked_for_all_of_it_again(strict: str) -> None:
    model = refusing()
    talk()
    change_provider("strict", ProviderEdit(key="sk-2"), "alice")
    assert not ModelLesson.objects.exists()
    talk()
    assert refused(model) == 2


def test_what_another_address_refused_says_nothing(strict: str) -> None:
    refusing()
    talk()
    ModelLesson.objects.update(address="http://elsewhere.invalid/v1")
    model = refusing()
    talk()
    assert refused(model) == 1


def test_what_was_not_accepted_in_the_end_is_not_kept(strict: str) -> None:
    error = {"error": {"message": WORDS, "param": "temperature"}}
    scripted(fails(400, body=error), fails(401, body={"error": {"message": "No."}}))
    talk()
    assert not ModelLesson.objects.exists()


def test_there_are_never_more_than_can_be_kept(strict: str) -> None:
    endpoint = resolve("strict")
    old = {"provider": "strict", "address": URL, "kind": "without", "value": "x"}
    now = timezone.now()
    ModelLesson.objects.bulk_create(
        ModelLesson(**old, model=f"m{n}", learnt_at=now) for n in range(MOST_KEPT)
    )
    remember(endpoint, "newest", {("without", "top_p"): "No."})
    assert ModelLesson.objects.count() == MOST_KEPT
    assert lessons_for(endpoint, "newest").without == {"top_p"}


def test_names_that_no_column_takes_are_not_kept(strict: str) -> None:
    remember(resolve("strict"), "m" * 300, {("without", "top_p"): "No."})
    assert not ModelLesson.objects.exists()


# What people see of it


def admin(client: Client) -> Client:
    who = person("alice")
    who.is_superuser = True
    who.save()
    client.force_login(who)
    return client


LESSONS = [
    (("without", "temperature"), "Leaves out temperature: the server refused it."),
    (("most_output", "8192"), "Asks for at most 8,192 tokens of output: the server refused more."),
    (
        ("calls_without_effort", ""),
        "Turns reasoning off where tools are offered: the server refused both together, and takes "
        "them by the protocol OpenAI Responses.",
    ),
]


@pytest.mark.parametrize(("row", "sentence"), LESSONS)
def test_the_card_says_in_one_sentence_what_is_done_differently(
    client: Client, strict: str, row: tuple[str, str], sentence: str
) -> None:
    remember(resolve("strict"), "m", {row: "No <b>way</b>."})
    page = html(admin(client).get("/settings/models/"))
    assert sentence in page
    assert 'title="No &lt;b&gt;way&lt;/b&gt;."' in page


def test_an_admin_can_have_it_forgotten(client: Client, strict: str) -> None:
    model = refusing()
    talk()
    lesson = ModelLesson.objects.get()
    assert lesson.words == WORDS
    url = f"/settings/models/strict/lessons/{lesson.pk}/forget"
    client.force_login(person("bob"))
    assert "Leaves out temperature" in html(client.get("/settings/models/"))
    assert client.post(url, headers=HTMX).status_code == 403
    answer = admin(client).post(url, headers=HTMX)
    assert "Leaves out temperature" not in html(answer) and not ModelLesson.objects.exists()
    assert admin(client).post(url, headers=HTMX).status_code == 404
    talk()
    assert refused(model) == 2
