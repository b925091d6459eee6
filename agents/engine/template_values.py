"""The chain author's words at one step, with their macros expanded."""

from __future__ import annotations

from datetime import datetime

from agents.chains.template import Output, OutputView, TemplateValues, UnknownMacro, expand
from agents.engine.steps import Step
from agents.models import ToolSource
from agents.turn_exceptions import TurnFailed

BUILT_IN_SERVICES = ["local_fs", "local_shell", "fetch_url"]


def expanded(step: Step, text: str) -> str:
    """The author's text for this step; a macro without a meaning fails the task."""
    if "{{" not in text:
        return text
    try:
        return expand(text, template_values(step))
    except UnknownMacro as unknown:
        raise TurnFailed("logic", f"Task {step.task.id}: {unknown}") from None


def template_values(step: Step) -> TemplateValues:
    config, chain = step.turn.config, step.work.chain
    return TemplateValues(
        now=datetime.now().astimezone(),
        chain={"id": chain.id, "description": chain.description},
        variables=variables(config),
        outputs=outputs(step),
        services=services(),
        edges=dict(step.turn.checkpoint.get("edges", {})),
    )


def variables(config: dict[str, object]) -> dict[str, str]:
    """`model` and `provider` of the agent, its id and name, and what its file has under "vars"."""
    own = config.get("vars")
    given = {str(k): str(v) for k, v in own.items()} if isinstance(own, dict) else {}
    names = ("model", "provider", "id", "name")
    return {**given, **{name: str(config.get(name) or "") for name in names}}


def outputs(step: Step) -> dict[str, object]:
    """`.input` and each task by its id."""
    earlier: dict[str, Output] = step.turn.checkpoint.get("variables", {})
    given: dict[str, object] = {id: OutputView(output) for id, output in earlier.items()}
    return {**given, "input": OutputView(step.input or {"text": step.work.input})}


def services() -> list[str]:
    """The names of what tools come from, as grants name them."""
    return [*BUILT_IN_SERVICES, *ToolSource.objects.order_by("name").values_list("name", flat=True)]
