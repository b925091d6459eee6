"""Which part the demo plays, told by the tools it is offered."""

from __future__ import annotations

from agents.demo import planner, talk, worker
from agents.demo.heard import Answer, Json, heard


def answer(request: Json) -> Answer:
    asked = heard(request)
    if "finish_subtask" in asked.offered:
        return worker.work(asked)
    if asked.offered == {"finish_plan"}:
        return talk.closing(asked)
    if asked.offered == {"create_plan"}:
        return planner.plan_first(asked)
    if "revise_current_plan" in asked.offered:
        return talk.about_plan(asked)
    return talk.chat(asked)
