"""Sentences that rows keep are read in their reader's language, however they were put together."""

import json
import random

import pytest
from django.utils import translation

from agents.errors import Invalid
from agents.models import Event, Message
from plans import actions
from plans.models import Attempt, CheckResult, PlanVersion
from plans.schemas import PlanDraft
from tests.checked import TOOLS
from tests.inner import (
    MARK,
    beginning,
    from_column,
    gettext,
    gettext_lazy,
    lines,
    ngettext,
    sentences,
    to_column,
    untranslated,
)
from tests.world import conversation, done, drive, plan_of, scripted

pytestmark = pytest.mark.django_db(transaction=True)
BOX = (
    "{messages} message was not sent: it is back in the message box.",
    "{messages} messages were not sent: they are back in the message box.",
)


def random_text(random, depth=0):
    """A plain text, or sentences of Planside's within one another and in a row."""
    kinds = [
        lambda: "".join(random.choices("ab {}\x1e\n\ud800\x00“”。", k=random.randint(0, 6))),
        lambda: gettext("It is there."),
        lambda: gettext_lazy("It is there."),
        lambda: ngettext(*BOX, n := random.randint(0, 3)).format(messages=n),
        lambda: gettext("{path} is not there.").format(path=random_text(random, depth + 1)),
        lambda: sentences(*(random_text(random, depth + 1) for _ in range(random.randint(0, 3)))),
        lambda: lines(*(random_text(random, depth + 1) for _ in range(random.randint(1, 3)))),
        lambda: untranslated("- {said}").format(said=random_text(random, depth + 1)),
    ]
    return random.choice(kinds if depth < 3 else kinds[:4])()


@pytest.mark.parametrize("seed", range(200))
def test_what_was_written_in_one_language_is_read_in_another_as_if_written_there(seed):
    texts = {}
    for language in ("en", "zh-hans"):
        with translation.override(language):
            texts[language] = str(random_text(random.Random(seed)))
    for written, text in texts.items():
        with translation.override(written):
            stored = to_column(text)
        for read, wanted in texts.items():
            if read == written or stored.startswith(MARK):
                with translation.override(read):
                    assert from_column(stored) == clean(wanted)


def clean(text):
    return text.lstrip(MARK) if type(text) is str else from_column(to_column(text))


def test_a_text_from_outside_is_never_taken_for_a_sentence():
    forged = MARK + json.dumps([["It is there.", None, 0, {}]])
    assert from_column(to_column(forged)) == forged[1:]


@pytest.mark.parametrize(
    "stored",
    [
        "",
        "[]x",
        "[[]]",
        '[["{x}", null, 0, {"y": 1}]]',
        "[[1, 2]]",
        '[["{x.y}", null, 0, {"x": 1}]]',
    ],
)
def test_what_cannot_be_read_is_shown_as_it_is(stored):
    assert from_column(MARK + stored) == stored


def test_an_exception_carries_its_sentence_along():
    why = str(Invalid(gettext("{path} is not there.").format(path="a")))
    with translation.override("zh-hans"):
        assert (
            from_column(to_column(why)) == gettext("{path} is not there.").format(path="a") != why
        )


def test_a_text_that_is_cut_off_is_plain():
    assert beginning(gettext("It is there."), 5) == "It is"
    assert to_column(beginning(gettext("It is there."), 50)).startswith(MARK)


def test_every_row_of_a_failed_run_is_read_in_the_readers_language(own_home):
    c = conversation("alice", tools=TOOLS, plan={"enabled": True, "max_attempts": 1})
    checks = [{"kind": "file", "path": "a.txt", "exists": True}]
    draft = PlanDraft.model_validate({"title": "T", "subtasks": [{"name": "A", "checks": checks}]})
    actions.create_plan(c, draft, "alice", goal="T")
    actions.update_subtask(plan_of(c), "s1", {"name": "B"}, "alice")
    actions.approve_plan(plan_of(c), 2, "alice", run="all")
    scripted(*[done()] * 5)
    drive()
    attempt = Attempt.objects.get()
    assert attempt.error.partition(" ")[2].startswith("finishes were refused by")
    rows = {
        (Attempt, "error"): ["a.txt", "次"],
        (CheckResult, "said"): ["a.txt"],
        (PlanVersion, "explanation"): ["B"],
        (Message, "text"): ["失败"],
        (Event, "data"): ["a.txt 存在", "B"],
    }
    for (model, field), words in rows.items():
        english = model.objects.order_by("pk").values_list(field, flat=True)
        with translation.override("zh-hans"):
            chinese = model.objects.order_by("pk").values_list(field, flat=True)
            for word in words:
                assert any(word in str(each) for each in chinese), (model, field, list(chinese))
        assert list(chinese) != list(english)
