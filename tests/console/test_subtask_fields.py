"""Each text of a subtask has its place everywhere: what the executor gets was read before the yes.

Who adds a field finds here what is still missing.
"""

from pathlib import Path

import pytest

from plans import actions
from plans.models import SUBTASK_TEXT, PlanVersion
from plans.schemas import PlanDraft, SubtaskRevision
from tests.inner import (
    NewSubtask,
    RowShape,
    SubtaskPatch,
    SubtaskSnapshot,
    SubtaskWanted,
    as_markdown,
    checklist,
    plan_in_text,
    prompts,
)
from tests.inner import fragments_changes as changes
from tests.markup import html
from tests.world import conversation, person, plan_of

pytestmark = pytest.mark.django_db

TEXTS = {field: f"Its own {field}" for field in SUBTASK_TEXT}
INTERFACE = (Path(__file__).parents[2] / "docs" / "interface.md").read_text()


@pytest.fixture
def plan():
    """Its only subtask has every text, and waits for a yes."""
    c = conversation()
    actions.create_plan(
        c, PlanDraft.model_validate({"title": "Tidy", "subtasks": [TEXTS]}), "agent"
    )
    return plan_of(c)


@pytest.fixture
def alice(client):
    client.force_login(person("alice"))
    return client


@pytest.mark.parametrize("field", SUBTASK_TEXT)
def test_drawer_card_page_version_and_export_show_it(alice, plan, field):
    text = TEXTS[field]
    live = changes(plan.conversation_id, 0)[1]
    card, drawer = live.split('id="plan"')
    assert f">{text}<" in card, "_card_reading.html"
    assert f">{text}<" in drawer, "_subtask_text.html"
    assert f">{text}<" in alice.get(f"/plans/{plan.pk}/").content.decode()
    address = f"/c/{plan.conversation_id}/plan/versions?plan={plan.pk}"
    assert text in alice.get(address).content.decode()
    assert text in as_markdown(plan), "plans/documents.py"


@pytest.mark.parametrize("field", SUBTASK_TEXT)
def test_a_comparison_of_two_versions_shows_it(alice, plan, field):
    actions.update_subtask(plan, "s1", {field: "Another"}, "alice")
    compared = alice.get(f"/c/{plan.conversation_id}/plan/versions?plan={plan.pk}&from=1&to=2")
    assert "Another" in compared.content.decode()


@pytest.mark.parametrize("field", SUBTASK_TEXT)
def test_the_editor_of_a_row_begins_with_it(alice, plan, field):
    page = html(alice.get(f"/c/{plan.conversation_id}/"))
    editor = page.partition('id="subtask-editor"')[2].partition("</template>")[0]
    assert f'name="{field}"' in editor, "_editors.html"
    assert f'data-{field}="{TEXTS[field]}"' in changes(plan.conversation_id, 0)[1]


@pytest.mark.parametrize("field", SUBTASK_TEXT)
def test_the_executor_gets_it_and_a_planner_may_write_it(plan, field):
    assert TEXTS[field] in prompts.assignment(plan, checklist(plan).get())
    assert f'"{field}": ' in prompts.PLAN_AS_TEXT
    written = plan_in_text(f'[{{"name": "Read", "{field}": "words"}}]')
    assert written["subtasks"][0][field] == "words"
    assert field in SubtaskRevision.model_fields, "plans/schemas.py"


@pytest.mark.parametrize("field", SUBTASK_TEXT)
def test_the_api_takes_and_gives_it_and_says_so(field):
    for shape in (NewSubtask, SubtaskPatch, SubtaskWanted, RowShape):
        assert field in shape.model_fields, shape.__name__
    assert field in SubtaskSnapshot.__annotations__, "plans/snapshot.py"
    lines = [line for line in INTERFACE.splitlines() if "/subtasks" in line and "name" in line]
    assert len(lines) == 2 and all(field in line for line in lines)
    assert field in INTERFACE.partition("subtasks   [{")[2].partition("}]")[0], "the snapshot"


def test_a_version_that_was_stored_without_it_reads_as_if_it_were_empty(plan):
    bare = {"key": "s1", "name": "Read"}
    PlanVersion.objects.update(snapshot={"title": "T", "content": "", "subtasks": [bare]})
    empty = {**dict.fromkeys(SUBTASK_TEXT, ""), "checks": []}
    assert plan.versions.get().text["subtasks"] == [{**empty, **bare}]
