"""`manage.py plan new | list | show | approve | run | retry | skip | replan | …`: see --help."""

from __future__ import annotations

from argparse import ArgumentParser

from django.contrib.auth.models import User

from agents.actions import create_conversation
from agents.agent_file.owners import agent_of, agents_of
from agents.agent_file.record import AgentRecord
from agents.errors import Missing, NotNow
from agents.models import Turn
from console import commands
from console.following import follow
from console.management.plain import PlainCommand
from console.people import local_owner
from plans import actions
from plans.export import as_markdown
from plans.models import LIVE, Plan
from plans.rows import active_plan
from plans.snapshot import snapshot

MARKS = {"todo": " ", "in_progress": ">", "done": "x", "abandoned": "-"}


class Command(PlainCommand):
    help = "Plans from the command line. Without an ID, the plan that changed last."

    def add_arguments(self, parser: ArgumentParser) -> None:
        verbs = parser.add_subparsers(dest="verb", required=True)
        new = verbs.add_parser("new", help="ask an agent for a plan")
        new.add_argument("goal")
        new.add_argument("--agent", default="")
        new.add_argument("--planner", default="", metavar="CHAIN")
        new.add_argument("--json", action="store_true")
        verbs.add_parser("list", help="all plans").add_argument("--json", action="store_true")
        for verb, explanation in BY_ID.items():
            by_id = verbs.add_parser(verb, help=explanation)
            if verb in ("retry", "skip"):
                by_id.add_argument("key", help="the subtask, such as s2")
            one_number = None if verb in ("activate", "delete") else "?"
            by_id.add_argument("id", nargs=one_number, type=int)
            by_id.add_argument("--json", action="store_true")
            for flag, options in FLAGS.get(verb, {}).items():
                by_id.add_argument(flag, **options)  # type: ignore[arg-type]

    def handle(self, *, verb: str, **given: object) -> None:
        self.prepare()
        getattr(self, f"{verb}_plan")(**given)

    def new_plan(self, *, goal: str, agent: str, planner: str, json: bool, **_: object) -> None:
        owner = local_owner()
        chosen = agent_of(owner, agent) if agent else first_agent(owner)
        conversation = create_conversation(owner, chosen.id)
        said = commands.plan(conversation, f"/plan {goal}", goal, owner.username, planner)
        if said.turn is None:
            raise NotNow(f"Plan mode is off for {chosen.file.name}.")
        turn = said.turn
        follow(lambda: not Turn.objects.get(pk=turn.pk).is_open)
        plan = active_plan(conversation)
        if plan is None:
            raise NotNow(why_none(turn))
        self.show(plan, json)

    def list_plan(self, *, json: bool, **_: object) -> None:
        plans = Plan.objects.filter(conversation__owner=local_owner()).order_by("-pk")
        if json:
            self.print_json([snapshot(plan) for plan in plans])
        for plan in [] if json else plans:
            self.stdout.write(f"{plan.pk}  {plan.get_state_display().lower():11}  {plan.title}")

    def show_plan(self, *, id: int | None, json: bool, **_: object) -> None:
        self.show(plan_named(id), json)

    def approve_plan(self, *, id: int | None, version: int | None, json: bool, **_: object) -> None:
        """Only says yes; `plan run` runs it."""
        plan = plan_named(id)
        wanted = plan.version if version is None else version
        self.show(actions.approve(plan, wanted, by(), run="no"), json)

    def run_plan(
        self,
        *,
        id: int | None,
        json: bool,
        next: bool,
        executor: str,
        allow: list[str],
        **_: object,
    ) -> None:
        plan = plan_named(id)
        options: dict[str, object] = {"executor": executor, "allow": allow}
        actions.run_plan(plan, by(), "next" if next else "all", options)
        self.see_through(plan, json)

    def see_through(self, plan: Plan, json: bool) -> None:
        """Until the run rests; a failure, or something only a person can settle, is exit code 1."""
        follow(lambda: Plan.objects.get(pk=plan.pk).run not in LIVE)
        plan.refresh_from_db()
        self.show(plan, json)
        now = snapshot(plan)
        if now["attention"] != "none":
            raise NotNow(STOPS[str(now["attention"])].format(**now))

    def retry_plan(self, *, key: str, id: int | None, json: bool, **_: object) -> None:
        plan = plan_named(id)
        actions.retry_subtask(plan, key, by())
        self.see_through(plan, json)

    def skip_plan(self, *, key: str, id: int | None, json: bool, reason: str, **_: object) -> None:
        self.show(actions.skip_subtask(plan_named(id), key, by(), reason), json)

    def replan_plan(
        self, *, id: int | None, start: str | None, hint: str, json: bool, **_: object
    ) -> None:
        """Until the planner has answered; what it makes waits for a new yes."""
        plan = plan_named(id)
        before = plan.version
        turn = actions.replan(plan, by(), start, hint)
        follow(lambda: not Turn.objects.get(pk=turn.pk).is_open)
        plan.refresh_from_db()
        if plan.version == before:
            raise NotNow(why_none(turn, "The plan is as it was."))
        self.show(plan, json)

    def activate_plan(self, *, id: int, json: bool, **_: object) -> None:
        self.show(actions.activate(plan_named(id), by()), json)

    def cancel_plan(self, *, id: int | None, json: bool, **_: object) -> None:
        """A run that stops has its turn ended before this comes back."""
        plan = actions.cancel_plan(plan_named(id), by())
        follow(lambda: Plan.objects.get(pk=plan.pk).run not in LIVE)
        plan.refresh_from_db()
        self.show(plan, json)

    def delete_plan(self, *, id: int, json: bool, **_: object) -> None:
        plan = plan_named(id)
        actions.delete_plan(plan, by())
        if json:
            self.print_json({"deleted": id})
        else:
            self.stdout.write(f"{id}  {plan.title}  (deleted)")

    def export_plan(self, *, id: int | None, **_: object) -> None:
        self.stdout.write(as_markdown(plan_named(id)))

    def show(self, plan: Plan, json: bool) -> None:
        now = snapshot(plan)
        if json:
            self.print_json(now)
            return
        approved = "approved" if plan.is_confirmed else "not approved"
        self.stdout.write(f"{plan.pk}  {plan.title}  (v{plan.version}, {approved}, {plan.state})")
        for subtask in now["subtasks"]:  # type: ignore[attr-defined]
            line = f"  [{MARKS[subtask['state']]}] {subtask['key']}  {subtask['name']}"
            more = subtask["error"] or subtask["outcome"] or subtask["reason"]
            self.stdout.write(f"{line}: {more}" if more else line)
        if plan.outcome:
            self.stdout.write(plan.outcome)


BY_ID = {
    "show": "one plan with its subtasks",
    "approve": "say yes to its current version (only that)",
    "run": "run it to its end or a failure, and follow",
    "retry": "try a failed subtask again",
    "skip": "leave a subtask out",
    "replan": "plan the open subtasks anew; what is done stays",
    "activate": "put it into its conversation's drawer",
    "cancel": "give it up; nothing is deleted",
    "delete": "remove it with its versions and attempts",
    "export": "as markdown",
}
FLAGS: dict[str, dict[str, dict[str, object]]] = {
    "approve": {"--version": {"type": int, "help": "the version you have read"}},
    "run": {
        "--next": {"action": "store_true", "help": "the next subtask only"},
        "--auto": {"action": "store_true", "help": "to the end (as without it)"},
        "--executor": {"default": "", "metavar": "CHAIN"},
        "--allow": {"action": "append", "default": [], "metavar": "TOOL"},
    },
    "skip": {"--reason": {"default": ""}},
    "replan": {
        "--from": {"dest": "start", "metavar": "KEY", "help": "the first subtask to replace"},
        "--hint": {"default": "", "help": "what the planner should do differently"},
    },
}
STOPS = {
    "failed": "The run has failed: see the subtask marked with its error.",
    "approval": "A tool call waits for your leave; --allow TOOL gives it beforehand.",
    "question": "The agent asks: {question}",
    "budget": "The plan's budget is used up.",
    "confirm": "v{version} waits for your yes.",
}


def by() -> str:
    return str(local_owner().username)


def plan_named(id: int | None) -> Plan:
    """The plan with this number; without one, the plan that changed last."""
    plans = Plan.objects.filter(conversation__owner=local_owner())
    plan = plans.order_by("-updated_at").first() if id is None else plans.filter(pk=id).first()
    if plan is None:
        raise Missing("There is no plan yet." if id is None else f"There is no plan {id}.")
    return plan


def first_agent(owner: User) -> AgentRecord:
    agents = agents_of(owner)
    if not agents:
        raise Missing("There is no agent yet.")
    return agents[0]


def why_none(turn: Turn, result: str = "No plan was made.") -> str:
    turn.refresh_from_db()
    texts = turn.messages.filter(role="assistant", kind="text").values_list("text", flat=True)
    said = next((text for text in reversed(list(texts)) if text), "")
    return turn.error or f"{result} {said}".strip()
