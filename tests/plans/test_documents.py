"""Plans as documents, for programs: the same verbs as every other door."""

import pytest
from asgiref.sync import async_to_sync

from agents.errors import Invalid, Missing, NotNow
from agents.tools.base import ToolFailed
from plans import actions
from plans.documents import create_plan, create_plan_tool, get_plan, plan_agent, update_plan
from plans.models import Plan, PlanVersion
from tests.fake_model import call, say
from tests.world import conversation, plan_of, proposal, proposed, scripted, shown, tell

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
        assert shown(c)["progress"] == {"done": 0, "abandoned": 0, "total": 0, "percent": 0}

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

    def test_metadata_can_be_there_from_the_start(self):
        plan = create_plan(conversation(), title="T", content=TEXT, metadata={"ticket": 7})
        assert (plan.metadata, plan.version) == ({"ticket": 7}, 1)
        assert PlanVersion.objects.count() == 1

    def test_a_text_alone_cannot_be_approved_before_there_is_something_to_do(self):
        plan = create_plan(conversation(), title="T", content=TEXT)
        with pytest.raises(Invalid, match=r"^A plan needs at least one subtask\.$"):
            actions.approve(plan, 1, "alice")
        plan = update_plan(plan.pk, subtasks=["Pack"], by="alice")
        assert actions.approve(plan, 2, "alice", run="no").is_confirmed

    def test_an_agent_cannot_make_one_without_subtasks(self):
        c = conversation()
        model = scripted(call("create_plan", title="T", content=TEXT), say("Sorry."))
        tell(c, "/plan tidy up")
        assert not Plan.objects.exists()
        assert "A plan needs at least one subtask." in str(model.requests[1]["messages"])


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
        actions.approve(plan, 1, "alice", run="no")
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
        with pytest.raises(NotNow, match="now v2; you saw v1"):
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

    def test_there_is_no_plan_that_is_not_there(self):
        for ask in (get_plan, update_plan):
            with pytest.raises(Missing, match="There is no plan 404"):
                ask(404)


class TestForAnAgent:
    def test_its_context_is_the_plan_as_it_is_when_asked_for(self):
        plan = create_plan(conversation(), title="Move house", content=TEXT)
        about = plan_agent(plan.pk)
        assert (about.as_context().priority, about.as_context(60).priority) == (80, 60)
        update_plan(plan.pk, title="Move far")
        assert about.as_context().text == f"Plan: Move far (v2)\n{TEXT}"

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
        with pytest.raises(ToolFailed, match="at least one subtask"):
            run(tool, title="Another", content=TEXT)


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
        c = proposed("Read", tool_descriptions=words)
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
        c = proposed("Read", **only_read)
        actions.approve(plan_of(c), 1, "alice", run="no")
        model = scripted(say("hello"))
        tell(c, "hello")
        asked = model.requests[0]
        assert "get_plan" in functions(asked)
        assert not {"revise_current_plan", "add_subtask", "finish_plan"} & set(functions(asked))
        assert "you cannot change it" in system(asked)

    def test_the_work_on_the_plan_keeps_its_tools(self):
        c = proposed("Read", plan={"enabled": True, "tools": "read"})
        model = scripted(say("Changed."))
        tell(c, "make it shorter")
        assert "revise_current_plan" in functions(model.requests[0])
        model = scripted(call("finish_subtask", outcome="read"), say("."))
        tell(c, "go")
        assert {"finish_subtask", "revise_current_plan"} <= set(functions(model.requests[0]))
