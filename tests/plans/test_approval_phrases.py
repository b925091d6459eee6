"""Which words approve, which almost do, and which are for the agent."""

import tomllib
from pathlib import Path

import pytest
from django.utils import translation

from agents.models import Turn
from plans import actions
from tests.builders import proposed_plan
from tests.fake_model import call, say
from tests.inner import approval_phrases
from tests.world import drive, plan_of, scripted, states, tell, texts

pytestmark = pytest.mark.django_db(transaction=True)

MEANT = {
    "approve": "started",
    "cancel": "cancelled",
    "nearly_yes": "asked",
    "nearly_no": "asked",
    "": "ordinary",
}
TABLE = {
    language: {kind: [each.strip() for each in texts.split("·")] for kind, texts in rows.items()}
    for language, rows in tomllib.loads(
        Path(__file__).with_name("phrases.toml").read_text("utf-8")
    ).items()
}
LANGUAGES = pytest.mark.parametrize("language", TABLE)
# Words of doubt, of a wish, of a no and of a question, before and behind a yes.
DOUBTS = {
    "en": "but if except unless maybe not don't no wait why can when only after without",
    "zh": "但是 不过 如果 除了 也许 不 别 先别 等等 为什么 能不能 什么时候 只 之后 吗",
    "ja": "でも ただし もし たぶん ない いいえ 待って なぜ いつ だけ 後で ですか",
    "ko": "하지만 만약 빼고 아마 안 아니요 잠깐 왜 언제 만 나중에 까요",
    "de": "aber wenn außer vielleicht nicht kein nein warte warum wann nur nachdem ohne",
    "fr": "mais si sauf peut-être pas ne non attends pourquoi quand seulement après sans",
    "es": "pero si excepto quizás no nunca espera porqué cuándo solo después sin",
    "pt": "mas se exceto talvez não nunca espere porquê quando só depois sem",
    "it": "ma se tranne forse non mai no aspetta perché quando solo dopo senza",
    "ru": "но если кроме может не нет подожди почему когда только после без ли",
    "pl": "ale jeśli oprócz może nie czekaj dlaczego kiedy tylko potem bez czy",
    "ar": "لكن إذا إلا ربما لا ليس انتظر لماذا متى فقط بعد بدون هل",
}


@LANGUAGES
def test_what_people_write_is_taken_as_they_mean_it(language):
    rows = TABLE[language]
    assert sum(map(len, rows.values())) >= 100
    wrong = {
        text: approval_phrases.meaning_of(text)
        for kind, texts in rows.items()
        for text in texts
        if MEANT[approval_phrases.meaning_of(text)] != kind
    }
    assert not wrong


@LANGUAGES
def test_a_third_of_that_table_is_in_no_list_of_the_product(language):
    listed = {
        phrase.strip()
        for lists in approval_phrases.in_languages()
        for kind, phrases in lists.items()
        if kind != "command"
        for phrase in phrases.split("·")
    }
    texts = [text for texts in TABLE[language].values() for text in texts]
    assert sum(text not in listed for text in texts) >= len(texts) / 3


@LANGUAGES
def test_no_yes_with_a_word_of_doubt_starts_anything(language):
    doubts = DOUBTS[language].split()
    for yes in (*TABLE[language]["started"], *TABLE["en"]["started"]):
        for doubt in doubts:
            for text in (f"{yes} {doubt}", f"{doubt} {yes}", f"{yes}, {doubt}", f"{yes}{doubt}"):
                assert approval_phrases.meaning_of(text) != "approve", text


QUESTIONS = "?？؟⁇‽¿\u037e՞፧⸮❓"  # of Latin, Arabic, Greek, Armenian, Ethiopic and other scripts


@LANGUAGES
def test_no_yes_with_a_sign_that_asks_is_a_yes_or_a_no(language):
    for yes in TABLE[language]["started"]:
        for sign in QUESTIONS:
            assert approval_phrases.meaning_of(yes + sign) == ""


@LANGUAGES
def test_no_yes_that_is_struck_out_starts_anything(language):
    for yes in TABLE[language]["started"]:
        for line in ("\u0335", "\u0336", "\u0337", "\u0338"):
            struck = "".join(f"{sign}{line}" for sign in yes)
            assert approval_phrases.meaning_of(struck) != "approve"


def test_no_phrase_is_a_yes_in_one_language_and_a_no_in_another():
    approving, refusing = (set(approval_phrases.of_kind(kind)) for kind in ("approve", "no"))
    assert not approving & refusing


@pytest.mark.parametrize(
    "text", ["yes " * 30, "", "…", "👎🏿", "y" * 100_000, "yes\n\nno", "'yes'"]
)
def test_what_is_long_empty_or_quoted_starts_nothing(text):
    assert approval_phrases.meaning_of(text) != "approve"


@pytest.mark.parametrize("text", ["yes, do it please", "好的，开始吧", "そうです"])
def test_words_that_nearly_approve_start_nothing_and_are_answered(text):
    c = proposed_plan("Read")
    tell(c, text)
    notice = c.messages.get(kind="notice")
    assert notice.text.startswith("Say yes, or press Start plan")
    assert plan_of(c).approved_version is None
    assert not Turn.objects.filter(conversation=c, state="queued").exists()


@pytest.mark.parametrize("text", ["No! Don't", "先别开始", "nein danke", "please cancel", "👎"])
def test_words_that_nearly_refuse_change_nothing_and_are_answered(text):
    c = proposed_plan("Read")
    said = tell(c, text)
    assert said.turn is None
    assert c.messages.get(kind="notice").text.startswith("Nothing has started. To cancel the plan")
    assert plan_of(c).is_open and plan_of(c).approved_version is None


def test_the_answer_to_words_that_start_nothing_is_read_in_the_readers_language():
    c = proposed_plan("Read")
    tell(c, "not yet")
    tell(c, "/plan")
    assert (
        c.messages.filter(kind="notice")
        .last()
        .text.endswith("Waiting for you to start it.\n1. Read")
    )
    with translation.override("zh-hans"):
        refused, told = (each.text for each in c.messages.filter(kind="notice").order_by("pk"))
    assert (
        refused.startswith("什么都还没有开始") and "等你启动" in told and told.endswith("\n1. Read")
    )


@pytest.mark.parametrize("text", ["no", "wait", "stop", "ok great"])
def test_while_a_plan_runs_such_words_are_for_the_agent(text):
    c = proposed_plan("Read")
    actions.approve_plan(plan_of(c), 1, "alice", run="no")
    scripted(say("Fine."))
    assert tell(c, text).turn is not None


@pytest.mark.parametrize(
    "text", ["yes but drop step 2", "sure, but shorter", "可以吗？", "can we start with yes?"]
)
def test_a_wish_or_a_question_still_reaches_the_agent(text):
    c = proposed_plan("Read")
    model = scripted(say("Fine."))
    tell(c, text)
    assert text in str(model.requests[-1])
    assert plan_of(c).approved_version is None


def test_agreement_without_a_plan_is_an_ordinary_message():
    c = proposed_plan("Read")
    tell(c, "cancel")
    scripted(say("Which thing?"))
    tell(c, "sure thing", seen=None)
    assert texts(c)[-1] == "Which thing?"


DONE = call("finish_subtask", outcome="done")


def stopped(c):
    actions.approve_plan(plan_of(c), 1, "alice")
    actions.stop_plan(plan_of(c), "alice")
    drive()


def failed(c):
    actions.approve_plan(plan_of(c), 1, "alice")
    scripted(call("fail_subtask", error="no"))
    drive()


def paused(c):
    actions.approve_plan(plan_of(c), 1, "alice")
    actions.pause_plan(plan_of(c), "alice")


def not_started(c):
    actions.approve_plan(plan_of(c), 1, "alice", run="no")


def after_one(c):
    actions.approve_plan(plan_of(c), 1, "alice", run="next")
    scripted(DONE)
    drive()


RESTING = pytest.mark.parametrize("rest", [stopped, failed, paused, not_started, after_one])


@RESTING
@pytest.mark.parametrize("text", ["continue", "Go ahead."])
@pytest.mark.sampled(5)
def test_a_word_goes_on_with_an_approved_plan_that_rests(rest, text):
    c = proposed_plan("Read", "Write", "Check")
    rest(c)
    before = states(c).count("done")
    scripted(DONE, DONE, DONE, say("All done."))
    said = tell(c, text)
    assert said.turn is None, "it is no message for the agent"
    assert states(c).count("done") == (before + 1 if rest is after_one else 3)


@RESTING
def test_a_word_without_the_plan_it_is_about_goes_on_with_nothing(rest):
    c = proposed_plan("Read", "Write")
    rest(c)
    before = plan_of(c).run
    said = tell(c, "continue", seen=None)
    assert "A typed yes or no counts only with the plan and version that were read" in str(
        said.refused
    )
    assert plan_of(c).run == before


@pytest.mark.parametrize(
    ("asks", "budget", "told"),
    [
        (call("write_file", path="a.txt", content="a"), {}, "waits for your answer"),
        ({**DONE, "usage": [900, 200]}, {"tokens": 1000}, "The budget is used up"),
    ],
)
def test_a_word_that_cannot_go_on_says_what_is_waited_for(asks, budget, told):
    c = proposed_plan("Read", "Write", budget=budget, tools={"write_file": "ask"})
    scripted(asks)
    tell(c, "go")
    said = tell(c, "continue")
    assert told in str(said.refused)
    assert told in c.messages.filter(kind="notice").last().text


def test_a_word_while_the_plan_runs_does_nothing_and_says_so():
    c = proposed_plan("Read")
    actions.approve_plan(plan_of(c), 1, "alice")
    scripted(DONE, say("."))
    said = tell(c, "continue")
    assert said.turn is None
    assert "v1 is approved already" in str(said.refused)
