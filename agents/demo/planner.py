"""The demo as planner: one kind of goal is understood, the tidying of a project's documents."""

from __future__ import annotations

import re

from agents.demo.heard import Answer, Call, Heard, Json

EXAMPLE = (
    "/plan Tidy up the project README and API docs — fill in missing sections and fix broken links"
)
README = re.compile(r"\breadmes?\b", re.I)
DOCS = re.compile(r"\b(docs?|documents?|documentation|manual|guide|api|pages?|markdown)\b", re.I)
LINKS = re.compile(r"\blinks?\b", re.I)
GAPS = re.compile(r"\b(sections?|gaps?|todos?|placeholders?|missing|incomplete)\b", re.I)
TIDIES = re.compile(
    r"\b(tid(y|ied|ies)|clean|fix|fill|complet|improv|polish|updat|repair|finish|mend|review"
    r"|put in order|bring up to date)\w*",
    re.I,
)
STARTS_OVER = re.compile(
    r"\b(start over|start again|from scratch|scrap (it|this|the plan)|(new|fresh) plan"
    r"|throw .{0,20}away)\b",
    re.I,
)


def plan_first(heard: Heard) -> Answer:
    """Answer a request in which create_plan is all there is."""
    last = heard.last_result()
    if last and last[0] == "create_plan":
        return presented(heard, last[1])
    goal = goal_in(heard)
    if goal is None:
        return Answer(
            "This is the demo model. It follows a script and can plan one kind of work: tidying a "
            f"project's documents. Try\n\n```\n{EXAMPLE}\n```\n\nFor any other goal, connect a "
            "model in Settings > Models."
        )
    return Answer("", [Call("create_plan", plan_for(goal))])


def goal_in(heard: Heard) -> str | None:
    """What the person asks for; “start over” alone means what was asked for before."""
    said = [*heard.texts("user")[::-1]]
    planned = [
        str(call.arguments.get("title")) for _, call in heard.calls() if call.tool == "create_plan"
    ]
    earlier = [*said[1:], *planned, heard.plan_title()] if said and starts_over(said[0]) else []
    return next((text for text in [*said[:1], *earlier] if is_understood(text)), None)


def starts_over(text: str) -> bool:
    asks = "?" in text
    return not asks and bool(STARTS_OVER.search(text))


def is_understood(goal: str) -> bool:
    about_docs = README.search(goal) or DOCS.search(goal)
    about_faults = LINKS.search(goal) or GAPS.search(goal)
    return bool(
        (about_docs and (about_faults or TIDIES.search(goal)))
        or (about_faults and TIDIES.search(goal))
    )


def plan_for(goal: str) -> Json:
    readme, docs = bool(README.search(goal)), bool(DOCS.search(goal))
    both = readme == docs
    place = "the README and the docs" if both else "the README" if readme else "the docs"
    links, gaps = bool(LINKS.search(goal)), bool(GAPS.search(goal))
    either = links == gaps
    steps = [stock(place)]
    if gaps or either:
        steps += [fill("the README")] if both or readme else []
        steps += [fill("the API docs")] if both or docs else []
    if links or either:
        steps.append(fix(place))
    return {
        "title": f"Tidy up {place}",
        "content": "Each step reads what is on disk when it begins. What is filled in comes from "
        "the project's own files; what they do not say stays open and is named.",
        "expected_outcome": expected(place, gaps or either, links or either),
        "subtasks": [*steps, check(place, gaps or either, links or either)],
    }


def expected(place: str, gaps: bool, links: bool) -> str:
    wanted = ["no section is empty"] if gaps else []
    wanted += ["no relative link is broken"] if links else []
    return f"In {place} {' and '.join(wanted)}."


def stock(place: str) -> Json:
    return {
        "name": f"Take stock of {place}",
        "description": f"Read {place}; list the sections without text and the links that lead "
        "nowhere.",
        "expected_outcome": "The number of empty sections and of broken links is known, each with "
        "its page.",
    }


def fill(place: str) -> Json:
    return {
        "name": f"Fill in the missing sections of {place}",
        "description": "Write what is missing from what the code and the other pages say, in the "
        "tone of the page.",
        "expected_outcome": f"0 sections of {place} are empty or say TODO, or those left open are "
        "named.",
    }


def fix(place: str) -> Json:
    return {
        "name": "Fix the broken links",
        "description": f"Follow every relative link and anchor in {place}, and point the broken "
        "ones at what they meant.",
        "expected_outcome": f"0 relative links in {place} are broken.",
    }


def check(place: str, gaps: bool, links: bool) -> Json:
    wanted = ["0 empty sections"] if gaps else []
    wanted += ["0 broken links"] if links else []
    return {
        "name": "Check the result",
        "description": f"Read {place} once more, from the start.",
        "expected_outcome": f"The second reading finds {' and '.join(wanted)}.",
    }


def is_refused(result: str) -> bool:
    """A plan tool that worked shows the plan, or says what the plan is now."""
    return "Plan: " not in result and not result.startswith("The plan is")


def presented(heard: Heard, result: str) -> Answer:
    if is_refused(result):
        return Answer(f"The plan could not be made: {result}")
    made = next((call for _, call in heard.calls() if call.tool == "create_plan"), None)
    steps = made.arguments.get("subtasks") if made else None
    count = len(steps) if isinstance(steps, list) else 0
    return Answer(
        f"Here is a plan in {count} steps: first I look, then I write, and at the end I check. "
        "Nothing runs until you start it. You can edit it in the drawer, or tell me what to "
        "change, for example “drop step 2”."
    )
