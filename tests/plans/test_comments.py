"""Comments on subtasks before the yes: kept, sent together, answered; never a yes themselves."""

import pytest

from agents.errors import Conflict, Invalid, NotFound, Refused
from agents.models import Message, Turn
from plans import actions
from plans.models import SubtaskComment
from plans.schemas import PlanEdit
from tests.builders import proposed_plan
from tests.fake_model import call, say
from tests.inner import DiffChange as Change
from tests.inner import agents_actions as talk
from tests.inner import answered_between, assignment, checklist, diff
from tests.inner import console_alternatives as alternatives
from tests.world import drive, plan_of, proposal, scripted, shown, tell, texts

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def c():
    return proposed_plan("Read", "Write", "Check")


def comments(c):
    return [subtask["comment"] for subtask in shown(c)["subtasks"]]


def comment(c, key, text):
    actions.keep_comment(plan_of(c), key, text, "alice")


def remark(c):
    return Message.objects.get(conversation=c, meta__comments__isnull=False)


def test_a_comment_is_no_change_of_the_plan_and_no_yes(c):
    comment(c, "s2", "yes")
    plan = plan_of(c)
    assert comments(c) == ["", "yes", ""]
    assert (plan.version, plan.approved_version, plan.run) == (1, None, "idle")


def test_another_comment_on_the_same_subtask_takes_the_place_of_the_first(c):
    comment(c, "s2", "One")
    comment(c, "s2", " Two\x00 ")
    assert comments(c) == ["", "Two", ""]
    actions.remove_comment(plan_of(c), "s2", "alice")
    assert comments(c) == ["", "", ""]


@pytest.mark.parametrize(
    ("key", "text", "why"),
    [("s9", "x", "no subtask s9"), ("s1", " \n", "Write the comment"), ("s1", "x" * 4001, "4,000")],
)
def test_what_is_no_comment_is_refused_in_a_sentence(c, key, text, why):
    with pytest.raises((NotFound, Invalid), match=why):
        comment(c, key, text)
    assert not SubtaskComment.objects.exists()


def test_comments_go_out_as_one_message_that_quotes_each_subtask(c):
    comment(c, "s3", "Twice.")
    comment(c, "s1", "Only the docs.\nNothing else.")
    actions.send_comments(plan_of(c), "alice", 1)
    assert texts(c, role="user")[-1] == (
        "2 comments on the plan:\n\n> 1. Read\nOnly the docs.\nNothing else.\n\n> 3. Check\nTwice."
    )
    assert comments(c) == ["", "", ""]


def test_the_planner_reads_the_whole_subtasks_and_is_asked_what_it_did():
    c = proposed_plan("Read", "Write")
    edit = PlanEdit.model_validate(
        {"subtasks": [{"key": "s1", "name": "Read", "description": "All."}]}
    )
    actions.edit_plan(plan_of(c), edit, "alice", 1)
    comment(c, "s1", "Less.")
    actions.send_comments(plan_of(c), "alice")
    model = scripted(say("No."))
    drive()
    [request] = model.requests
    assert "s1 Read\nDescription: All." in request["messages"][0]["content"]
    tools = {tool["function"]["name"]: tool["function"] for tool in request["tools"]}
    assert "answers" in tools["revise_current_plan"]["parameters"]["properties"]


def test_without_comments_nothing_more_is_asked_of_the_planner(c):
    model = scripted(say("No."))
    tell(c, "shorter")
    tools = {tool["function"]["name"]: tool["function"] for tool in model.requests[0]["tools"]}
    assert "answers" not in tools["revise_current_plan"]["parameters"]["properties"]


def revised(c, *answers, **change):
    subtasks = [{"key": "s2", "name": "Write twice"}]
    scripted(
        call("revise_current_plan", **{"subtasks": subtasks, "answers": list(answers), **change}),
        say("Done."),
    )
    drive()


def test_the_version_of_the_reply_answers_them_whether_it_changed_their_subtasks_or_not(c):
    comment(c, "s1", "Shorter.")
    comment(c, "s2", "Twice.")
    actions.send_comments(plan_of(c), "alice")
    revised(c, {"key": "s2", "answer": "It is written twice."})
    plan = plan_of(c)
    answered = answered_between(plan, 1, 2)
    assert {key: (each.text, each.answer) for key, [each] in answered.items()} == {
        "s1": ("Shorter.", ""),
        "s2": ("Twice.", "It is written twice."),
    }
    old, new = plan.versions.all()
    assert [row.change for row in diff(old.text, new.text).rows] == [
        Change.SAME,
        Change.EDITED,
        Change.SAME,
    ]


def test_a_reply_that_changes_nothing_answers_nothing(c):
    comment(c, "s1", "Shorter.")
    actions.send_comments(plan_of(c), "alice")
    revised(c, {"key": "s1", "answer": "Done."}, subtasks=[{"key": "s1", "name": "Read"}])
    assert plan_of(c).version == 1
    assert SubtaskComment.objects.get(message__isnull=False).answered_in is None


def test_another_turns_version_answers_no_comment(c):
    comment(c, "s1", "Shorter.")
    actions.send_comments(plan_of(c), "alice")
    scripted(say("I cannot."))
    drive()
    scripted(call("revise_current_plan", subtasks=[{"key": "s1", "name": "R"}]), say("So."))
    tell(c, "call it R")
    assert plan_of(c).version == 2
    assert SubtaskComment.objects.get(message__isnull=False).answered_in is None


def test_an_edited_subtask_keeps_its_comment_and_an_undone_removal_brings_it_back(c):
    comment(c, "s2", "Twice.")
    actions.update_subtask(plan_of(c), "s2", {"name": "Write all"}, "alice")
    assert comments(c) == ["", "Twice.", ""]
    actions.remove_subtask(plan_of(c), "s2", "alice")
    assert comments(c) == ["", ""]
    actions.restore_subtask(plan_of(c), "s2", "alice")
    assert comments(c) == ["", "Twice.", ""]


def test_going_back_to_a_version_brings_the_comment_of_a_removed_subtask_back(c):
    comment(c, "s2", "Twice.")
    actions.remove_subtask(plan_of(c), "s2", "alice")
    actions.restore_version(plan_of(c), 1, "alice")
    assert comments(c) == ["", "Twice.", ""]


def test_a_new_version_leaves_what_is_kept_where_it_is(c):
    comment(c, "s2", "Twice.")
    scripted(call("revise_current_plan", subtasks=[{"key": "s1", "remove": True}]), say("So."))
    tell(c, "drop the first")
    assert comments(c) == ["Twice.", ""]


def test_comments_reach_no_executor_and_stay_unsent_after_a_start(c):
    comment(c, "s1", "Look at xyzzy.")
    actions.approve_plan(plan_of(c), 1, "alice", without_comments=None)
    assert "xyzzy" not in assignment(plan_of(c), checklist(plan_of(c)).first())
    assert comments(c) == ["", "", ""]
    model = scripted(call("fail_subtask", error="No."))
    drive()
    assert model.requests and "xyzzy" not in str(model.requests)
    assert SubtaskComment.objects.get().message is None


@pytest.mark.parametrize(
    "verb",
    [
        lambda plan: actions.keep_comment(plan, "s1", "Late", "alice"),
        lambda plan: actions.remove_comment(plan, "s1", "alice"),
        lambda plan: actions.send_comments(plan, "alice"),
    ],
    ids=["keep", "remove", "send"],
)
def test_an_approved_plan_takes_no_comments(c, verb):
    actions.approve_plan(plan_of(c), 1, "alice", run="no")
    with pytest.raises(Conflict, match="v1 is approved"):
        verb(plan_of(c))


def test_nothing_is_sent_twice_and_nothing_about_another_version(c):
    comment(c, "s1", "Shorter.")
    with pytest.raises(Conflict, match="Nothing was sent"):
        actions.send_comments(plan_of(c), "alice", 2)
    actions.send_comments(plan_of(c), "alice", 1)
    with pytest.raises(Conflict, match="no comments to send"):
        actions.send_comments(plan_of(c), "alice", 1)


def test_a_typed_yes_does_not_start_a_plan_with_comments_that_went_to_nobody(c):
    comment(c, "s1", "Shorter.")
    said = tell(c, "go ahead")
    assert isinstance(said.refused, Refused) and "1 comment" in said.notice
    assert plan_of(c).approved_version is None


@pytest.mark.parametrize("way", ["discard", "stop"])
def test_a_message_that_is_taken_back_gives_its_comments_back_to_the_subtasks(c, way):
    comment(c, "s1", "Shorter.")
    talk.start_turn(c, "first", "alice", "plan")
    actions.send_comments(plan_of(c), "alice")
    assert comments(c) == ["", "", ""]
    if way == "discard":
        talk.discard_queued(remark(c), "alice")
    else:
        Turn.objects.filter(conversation=c, state="queued").order_by("pk").first()
        first = Turn.objects.filter(conversation=c, state="queued").order_by("pk")[0]
        Turn.objects.filter(pk=first.pk).update(state="running")
        talk.stop_reply(c, "alice")
        c.refresh_from_db()
        assert not c.given_back
    assert comments(c) == ["Shorter.", "", ""]


def test_what_was_said_beside_comments_goes_back_into_the_message_box(c):
    turn = talk.start_turn(c, "first", "alice", "plan")[1]
    Turn.objects.filter(pk=turn.pk).update(state="running")
    for more in ("", "And all in French."):
        comment(c, "s1", "Shorter.")
        actions.send_comments(plan_of(c), "alice", more=more)
    talk.stop_reply(c, "alice")
    c.refresh_from_db()
    assert c.unsent == "And all in French."
    assert notices(c) == ["1 message was not sent: it is back in the message box."]
    assert comments(c)[0] == "Shorter.\n\nShorter."


def test_what_was_kept_meanwhile_stands_beside_what_came_back(c):
    comment(c, "s1", "Shorter.")
    talk.start_turn(c, "first", "alice", "plan")
    actions.send_comments(plan_of(c), "alice")
    comment(c, "s1", "And sooner.")
    talk.discard_queued(remark(c), "alice")
    assert comments(c)[0] == "Shorter.\n\nAnd sooner."


def test_comments_on_a_plan_that_left_the_drawer_are_not_sent(c):
    comment(c, "s1", "Shorter.")
    plan = plan_of(c)
    scripted(proposal("Bake"), say("Here."))
    tell(c, "/plan bake")
    with pytest.raises(Conflict):
        actions.send_comments(plan, "alice")


def test_a_comment_that_was_sent_with_an_older_version_is_answered_by_the_newer_one(c):
    comment(c, "s2", "Twice.")
    actions.send_comments(plan_of(c), "alice")
    actions.update_subtask(plan_of(c), "s1", {"name": "Read all"}, "alice")
    revised(c)
    assert answered_between(plan_of(c), 1, 2) == {}
    assert list(answered_between(plan_of(c), 2, 3)) == ["s2"]


def notices(c):
    return texts(c, kind=Message.Kind.NOTICE, role="system")


def test_comments_that_no_version_came_of_stand_at_their_subtasks_again_and_it_is_said(c):
    comment(c, "s1", "Only the docs.")
    comment(c, "s3", "Twice.")
    scripted(say("I do not understand that."))
    actions.send_comments(plan_of(c), "alice", 1)
    drive()
    assert comments(c) == ["Only the docs.", "", "Twice."]
    [notice] = notices(c)
    assert notice.startswith("No new version came of your 2 comments.")


def test_what_was_said_meanwhile_is_not_overwritten_by_what_comes_back(c):
    comment(c, "s1", "Only the docs.")
    scripted(say("I do not understand that."))
    actions.send_comments(plan_of(c), "alice", 1)
    comment(c, "s1", "Only the guide.")
    drive()
    assert comments(c) == ["Only the guide.", "", ""]
    assert notices(c) == []


def test_asked_again_the_same_comments_go_out_again_and_stay_gone_once_they_are_answered(c):
    comment(c, "s1", "Only the docs.")
    look = call("revise_current_plan", subtasks=[{"key": "s1", "name": "Look"}])
    scripted(say("I do not understand that."), look, say("So."))
    turn = actions.send_comments(plan_of(c), "alice", 1)
    drive()
    assert comments(c) == ["Only the docs.", "", ""]
    turn.refresh_from_db()
    alternatives.ask_again(turn, "alice")
    assert comments(c) == ["", "", ""]
    drive()
    assert (plan_of(c).version, comments(c)) == (2, ["", "", ""])
