"""The demo's plan as a tree of spans."""

import shutil
from pathlib import Path

import pytest

from tests.test_tracing import keys, spans
from tests.world import conversation, files_of, plan_of, tell

__all__ = ["spans"]

pytestmark = pytest.mark.django_db(transaction=True)

SAMPLE = Path(__file__).parents[2] / "agents/config/samples/docs-writer/files"


def test_the_demo_plan_leaves_no_span_without_its_place(spans):
    c = conversation(provider="demo", model="docs")
    shutil.copytree(SAMPLE, files_of(c), dirs_exist_ok=True)
    tell(c, "/plan Tidy up the project README and API docs")
    tell(c, "go ahead")
    assert plan_of(c).state == "done"
    names = {span.context.span_id: span.name.partition(" ")[0] for span in spans.all()}
    above = {
        (span.name.partition(" ")[0], names[span.parent.span_id] if span.parent else None)
        for span in spans.all()
    }
    assert above == {
        ("invoke_agent", None),
        ("step", "invoke_agent"),
        ("chat", "step"),
        ("execute_tool", "step"),
        ("plan.operation", None),  # a person's
        ("plan.operation", "execute_tool"),  # a model's
        ("plan.operation", "invoke_agent"),  # the runner's, as it claims and settles
    }
    attempts = spans.all("invoke_agent", planside__turn__kind="subtask")
    assert {span.attributes["planside.subtask.key"] for span in attempts} == set(keys(c))
    assert len(spans.all("invoke_agent", planside__turn__kind="closing")) == 1
