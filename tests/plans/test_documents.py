"""Plans as documents, for programs: the same verbs as every other door."""

import pytest
from asgiref.sync import async_to_sync

from agents.errors import Conflict, Invalid, NotFound
from agents.models import ToolCall, Turn
from plans import actions
from plans.models import Plan, PlanVersion
from tests.builders import proposed_plan
from tests.fake_model import call, say
from tests.inner import (
    ToolFailed,
    checklist,
    create_plan,
    create_plan_tool,
    get_plan,
    plan_agent,
    plan_snapshot,
    update_plan,
)
from tests.world import conversation, drive, plan_of, proposal, scripted, shown, signed_in, tell

pytestmark = pytest.mark.django_db(transaction=True)

TEXT = "## Goal\nBy May"


def run(tool, **arguments) -> str:
    return async_to_sync(tool.run)(arguments).text


def named(tools):
    return {tool.name: tool for tool in tools}


class TestMaking:
    def test_a_plan_may_be_a_text_alone(self):
        c = conversation()
        plan = create_plan(c, title="Move house", content=TEXT, by="alice")
        assert (plan.version, plan.content, plan.approved_version) == (1, TEXT, None)
        assert plan_of(c) == get_plan(plan.pk) == plan
        assert (
            shown(c)["progress"].items()
            >= {"done": 0, "abandoned": 0, "total": 0, "percent": 0}.items()
        )

    def test_it_may_be_a_list_of_subtasks_alone(self):
        subtasks = ["Pack", {"name": "Drive", "expected_outcome": "There"}]
        create_plan(c := conversation(), title="Move house", subtasks=subtasks)
        rows = shown(c)["subtasks"]
        assert [row["name"] for row in rows] == ["Pack", "Drive"]
        assert rows[1]["expected_outcome"] == "There"

    @pytest.mark.parametrize("content", ["", " \n "])
    def test_it_cannot_be_empty(self, content):
        with pytest.raises(Invalid, match="content or at least one subtask"):
            create_plan(conversation(), title="Move house", content=content)
        assert not Plan.objects.exists()

    def test_what_cannot_be_is_one_sentence(self):
        with pytest.raises(Invalid, match="title"):
            create_plan(conversation(), title="x" * 201, content=TEXT)

    @pytest.mark.parametrize(
        "subtask",
        [
            {"name": "Pack", "expected_outcom": "Packed"},
            {"name": "Pack", "checks": [{"kind": "file", "path": "a", "exist": True}]},
            {"name": "Pack", "checks": [{"kind": {}}]},
        ],
    )
    def test_what_is_not_known_at_any_depth_is_refused_in_one_sentence(self, subtask):
        c = conversation()
        with pytest.raises(Invalid, match=r"^[^\n]+$"):
            create_plan(c, title="Move", subtasks=[subtask])
        plan = create_plan(c, title="Move", subtasks=["Pack"])
        with pytest.raises(Invalid):
            update_plan(plan.pk, subtasks=[subtask])
        client = signed_in(c.owner)
        for method, path in (("post", "/api/plans"), ("patch", f"/api/plans/{plan.pk}")):
            body = {"title": "Move", "subtasks": [subtask]}
            body |= {"conversation": c.pk} if method == "post" else {}
            answer = getattr(client, method)(path, body, "application/json")
            assert answer.status_code == 422, answer.content.decode()
        assert [each.version for each in c.plans.all()] == [1]

    def test_metadata_can_be_there_from_the_start(self):
        plan = create_plan(conversation(), title="T", content=TEXT, metadata={"ticket": 7})
        assert (plan.metadata, plan.version) == ({"ticket": 7}, 1)
        assert PlanVersion.objects.count() == 1

    def test_a_text_alone_may_get_subtasks_before_it_is_approved(self):
        plan = create_plan(conversation(), title="T", content=TEXT)
        plan = update_plan(plan.pk, subtasks=["Pack"], by="alice")
        assert actions.approve_plan(plan, 2, "alice", run="no").is_open

    @pytest.mark.parametrize("run", ["", "all", "next", "no"])
    def test_the_yes_to_a_text_alone_is_its_end(self, run):
        plan = create_plan(conversation(), title="T", content=TEXT)
        plan = update_plan(plan.pk, content="By June", by="alice")
        with pytest.raises(Conflict):
            actions.approve_plan(plan, 1, "alice", run=run)
        plan = actions.approve_plan(plan, 2, "alice", run=run)
        assert (plan.state, plan.run, plan.outcome) == ("done", "idle", "Approved as v2.")
        assert (plan.approved_version, plan.approved_by) == (2, "alice")
        assert plan.finished_at is not None
        assert plan_snapshot(plan).progress.percent == 100
        assert actions.approve_plan(plan, 2, "alice", run=run).state == "done", "the same yes again"
        assert not Turn.objects.exists()

    def test_an_agent_may_propose_a_text_alone(self):
        c = conversation()
        scripted(call("create_plan", title="T", content=TEXT), say("Read it."))
        tell(c, "/plan write down how we move")
        tell(c, "ok")
        plan = Plan.objects.get()
        assert (plan.state, plan.content, plan.outcome) == ("done", TEXT.strip(), "Approved as v1.")

    @pytest.mark.parametrize("text", [{}, {"content": "  "}])
    def test_an_agents_plan_of_nothing_is_refused(self, text):
        c = conversation()
        model = scripted(call("create_plan", title="T", **text), say("Sorry."))
        tell(c, "/plan tidy up")
        assert not Plan.objects.exists()
        assert "A plan needs content or at least one subtask." in str(model.requests[1]["messages"])


class TestOtherPlans:
    """`get_plan` with another plan's number, for agents that are granted it by name."""

    def read(self, owner="alice", **tools):
        plan = create_plan(conversation(), title="Move house", content=TEXT)
        c = conversation(owner, tools=tools)
        model = scripted(call("get_plan", plan=plan.pk), call("get_plan", plan=9999), say("ok"))
        tell(c, "what is in the plan?", owner)
        return [call.state for call in ToolCall.objects.order_by("pk")], model

    def test_an_agent_that_is_granted_it_reads_another_conversations_plan(self):
        states, model = self.read(get_plan="allow")
        assert states == ["done", "failed"]
        assert "Move house" in str(model.requests[1]["messages"])

    def test_without_the_grant_it_is_not_offered(self):
        states, model = self.read()
        assert states[0] == "refused"
        assert "Move house" not in str(model.requests[1]["messages"])

    def test_another_persons_plan_does_not_exist(self):
        states, model = self.read("bob", get_plan="allow")
        assert states == ["failed", "failed"]
        assert "Move house" not in str(model.requests[1]["messages"])


def test_a_plan_whose_every_subtask_was_skipped_says_so():
    plan = create_plan(conversation(), title="T", subtasks=["Pack", "Drive"])
    actions.approve_plan(plan, 1, "alice", run="no")
    for key in ("s1", "s2"):
        actions.skip_subtask(plan, key, "alice")
    scripted(say("Nothing was done."))
    drive()
    plan.refresh_from_db()
    assert (plan.state, plan.reason) == ("abandoned", "every subtask was skipped")


class TestChanging:
    @pytest.fixture
    def plan(self):
        return create_plan(conversation(), title="T", content=TEXT, subtasks=["Pack", "Drive"])

    def test_another_text_is_another_version(self, plan):
        assert update_plan(plan.pk, content="By June", by="alice").version == 2
        assert update_plan(plan.pk, title="Move", by="alice").version == 3
        assert [v.author for v in PlanVersion.objects.all()] == ["system", "alice", "alice"]

    def test_the_same_text_is_the_same_version(self, plan):
        assert update_plan(plan.pk, title="T", content=TEXT).version == 1

    def test_metadata_is_patched_and_never_makes_a_version_or_takes_a_yes(self, plan):
        actions.approve_plan(plan, 1, "alice", run="no")
        update_plan(plan.pk, metadata={"ticket": 7, "who": {"a": 1, "b": 2}})
        update_plan(plan.pk, metadata={"ticket": None, "who": {"b": 3}})
        now = get_plan(plan.pk)
        assert now.metadata == {"who": {"a": 1, "b": 3}}
        assert now.version == 1
        assert now.is_confirmed

    def test_new_metadata_is_announced_and_the_same_is_not(self, plan):
        before = shown(plan.conversation)["seq"]
        update_plan(plan.pk, metadata={"ticket": 7})
        update_plan(plan.pk, metadata={"ticket": 7})
        assert shown(plan.conversation)["seq"] == before + 1

    def test_a_change_of_another_version_is_refused(self, plan):
        update_plan(plan.pk, content="By June")
        with pytest.raises(Conflict, match="now v2; you saw v1"):
            update_plan(plan.pk, content="By July", version=1)

    def test_a_text_alone_can_change_and_cannot_become_nothing(self):
        plan = create_plan(conversation(), title="T", content=TEXT)
        assert update_plan(plan.pk, content="Other", subtasks=[]).version == 2
        with pytest.raises(Invalid, match="content or at least one subtask"):
            update_plan(plan.pk, content="")
        assert get_plan(plan.pk).content == "Other"

    def test_what_has_subtasks_keeps_one(self, plan):
        with pytest.raises(Invalid, match="at least one subtask"):
            update_plan(plan.pk, subtasks=[])

    def test_a_subtask_named_by_its_key_keeps_what_is_left_out(self, plan):
        plan = update_plan(plan.pk, subtasks=[{"key": "s2", "description": "Slowly."}, "Unpack"])
        rows = [(each.key, each.name, each.description) for each in checklist(plan)]
        assert rows == [("s2", "Drive", "Slowly."), ("s3", "Unpack", "")]
        with pytest.raises(Invalid, match="Give each new subtask a name"):
            update_plan(plan.pk, subtasks=[{"description": "Slowly."}])

    def test_there_is_no_plan_that_is_not_there(self):
        for ask in (get_plan, update_plan):
            with pytest.raises(NotFound, match="There is no plan 404"):
                ask(404)


class TestForAnAgent:
    def test_its_context_is_the_plan_as_it_is_when_asked_for(self):
        plan = create_plan(conversation(), title="Move house", content=TEXT)
        about = plan_agent(plan.pk)
        assert (about.as_context().priority, about.as_context(60).priority) == (80, 60)
        update_plan(plan.pk, title="Move far")
        said = f"Plan number {plan.pk}. v2 waits for a yes. The person reads of it: "
        said += "Waiting for you to approve it."
        assert about.as_context().text == f"Plan: Move far (v2)\n{said}\n{TEXT}"

    def test_a_plan_that_is_gone_has_no_context(self):
        assert plan_agent(404).as_context() is None

    def test_a_function_may_write_it(self):
        plan = create_plan(conversation(), title="Move house", content=TEXT)
        about = plan_agent(plan.pk, context=lambda plan: f"<plan>{plan.title}</plan>")
        assert about.as_context().text == "<plan>Move house</plan>"
        assert plan_agent(plan.pk, context=lambda plan: "").as_context() is None

    def test_its_tools_read_and_change_the_plan(self):
        plan = create_plan(conversation(), title="Move house", subtasks=["Pack"])
        tools = named(plan_agent(plan.pk).as_tools())
        assert list(tools) == ["get_plan", "revise_current_plan"]
        assert tools["get_plan"].read_only
        run(tools["revise_current_plan"], subtasks=[{"name": "Drive"}], explanation="More")
        assert "- [todo] s2 Drive" in run(tools["get_plan"])
        assert (get_plan(plan.pk).version, get_plan(plan.pk).is_confirmed) == (2, False)

    def test_a_refusal_is_the_same_sentence_here(self):
        plan = create_plan(conversation(), title="T", subtasks=["Pack"])
        actions.cancel_plan(plan, "alice")
        tools = named(plan_agent(plan.pk).as_tools())
        with pytest.raises(ToolFailed, match="This plan is cancelled"):
            run(tools["revise_current_plan"], title="Another")

    def test_the_tool_that_makes_one_shows_its_template(self):
        c = conversation()
        tool = create_plan_tool(c, template="## Goal\n[what]")
        assert tool.description.endswith("## Goal\n[what]")
        assert "## Goal" not in create_plan_tool(c).description
        run(tool, title="Move house", subtasks=["Pack"])
        assert (plan_of(c).title, plan_of(c).approved_version) == ("Move house", None)
        with pytest.raises(ToolFailed, match="content or at least one subtask"):
            run(tool, title="Another")


def functions(request) -> dict[str, str]:
    return {f["function"]["name"]: f["function"]["description"] for f in request["tools"]}


def system(request) -> str:
    return request["messages"][0]["content"]


class TestWhatTheAgentFileSays:
    """plan.template, tool_descriptions and plan.tools, seen on the wire."""

    def test_a_template_stands_in_the_tool_and_in_the_instructions(self):
        c = conversation(plan={"enabled": True, "template": "## Goal\n{{.input}} {x}"})
        model = scripted(proposal("Read"), say("Here."))
        tell(c, "/plan tidy up")
        for text in (functions(model.requests[0])["create_plan"], system(model.requests[0])):
            assert "## Goal\n{{.input}} {x}" in text
        assert "## Goal" not in system(model.requests[1])

    def test_a_template_outlives_another_description_of_the_tool(self):
        c = conversation(
            plan={"enabled": True, "template": "## Goal"},
            tool_descriptions={"create_plan": "Draw up what to do."},
        )
        model = scripted(say("hello"))
        tell(c, "hello")
        assert functions(model.requests[0])["create_plan"] == "Draw up what to do."
        assert "## Goal" in system(model.requests[0])

    def test_any_tool_can_be_described_in_other_words(self):
        words = {
            "get_plan": "See what is planned.",
            "finish_subtask": "Done.",
            "read_file": "Look.",
        }
        c = proposed_plan("Read", tool_descriptions=words)
        model = scripted(call("finish_subtask", outcome="read"), say("."))
        tell(c, "go")
        described = functions(model.requests[0])
        assert {name: described[name] for name in words} == words
        assert described["report_progress"].startswith("Say in one line")

    @pytest.mark.parametrize(
        "only_read",
        [{"plan": {"enabled": True, "tools": "read"}}, {"tools": {"plan.tools": "read"}}],
    )
    def test_a_chat_may_be_left_with_reading_the_plan(self, only_read):
        c = proposed_plan("Read", **only_read)
        actions.approve_plan(plan_of(c), 1, "alice", run="no")
        model = scripted(say("hello"))
        tell(c, "hello")
        asked = model.requests[0]
        assert "get_plan" in functions(asked)
        assert not {"revise_current_plan", "add_subtask", "finish_plan"} & set(functions(asked))
        assert "you cannot change it" in system(asked)

    def test_the_work_on_the_plan_keeps_its_tools(self):
        c = proposed_plan("Read", plan={"enabled": True, "tools": "read"})
        model = scripted(say("Changed."))
        tell(c, "make it shorter")
        assert "revise_current_plan" in functions(model.requests[0])
        model = scripted(call("finish_subtask", outcome="read"), say("."))
        tell(c, "go")
        assert {"finish_subtask", "revise_current_plan"} <= set(functions(model.requests[0]))
