"""How long the drawer, the page and the polls take as plans and conversations grow.

Part of `make bench`, a table: median and 95th percentile in milliseconds of 20 runs each, in-process
through Django's test client, on SQLite. Nothing is asserted about time.
"""
# ruff: noqa: E402 - Django is set up before its models are imported

import os
import shutil
import sys
from statistics import median, quantiles
from time import perf_counter

os.environ["DJANGO_SETTINGS_MODULE"] = "tests.settings"

import django

django.setup()

from django.conf import settings
from django.core.management import call_command
from django.test import Client
from django.test.utils import setup_test_environment

from agents.models import Conversation, Event, Message, Turn
from plans import actions
from plans.models import State
from plans.queries import record_event
from plans.schemas import PlanDraft
from tests.world import conversation, person

RUNS = 20
SUBTASKS = (10, 100, 200)
MESSAGES = (10, 100, 10_000)
TEXT = (
    "Read `docs/guide.md`:\n\n- two links are broken\n- one section is **empty**\n\nNext, the API."
)


def with_messages(count):
    """A conversation of this many messages, two a turn."""
    c = conversation()
    turns = Turn.objects.bulk_create(
        Turn(conversation=c, state="done", kind="chat") for _ in range(count // 2)
    )
    Message.objects.bulk_create(
        Message(
            conversation=c,
            turn=turns[(seq - 1) // 2],
            seq=seq,
            changed_seq=seq,
            role="user" if seq % 2 else "assistant",
            kind=Message.Kind.TEXT,
            text=TEXT,
        )
        for seq in range(1, count + 1)
    )
    Event.objects.bulk_create(
        Event(conversation=c, seq=seq, type="message.added") for seq in range(1, count + 1)
    )
    Conversation.objects.filter(pk=c.pk).update(seq=count)
    return c


def give_plan(c, count):
    """An approved plan of this many subtasks, the first half of them done."""
    names = [f"Subtask {number} of a plan that grows" for number in range(1, count + 1)]
    plan = actions.create_plan(c, PlanDraft(title="Growing", subtasks=names), "alice")
    actions.approve_plan(plan, 1, "alice", run="no")
    done = plan.subtasks.filter(position__lte=count // 2)
    done.update(state=State.DONE, outcome="As it should be.")
    record_event(plan, "plan.updated")
    return c


def addresses(client, c):
    """What is measured: a name, an address, the headers and the answer that is expected."""
    seq = Conversation.objects.get(pk=c.pk).seq
    home = f"/c/{c.pk}/"
    known = client.get(home + "changes")["ETag"]
    return (
        ("drawer", home + "drawer", {}, 200),
        ("page", home, {}, 200),
        ("poll 304", home + "changes", {"If-None-Match": known}, 304),
        ("poll 200", home + f"changes?after={seq - 1}", {}, 200),
    )


def timed(client, address, headers, status):
    """Milliseconds of each run, after one that warms up."""
    times = []
    for _ in range(RUNS + 1):
        began = perf_counter()
        response = client.get(address, headers=headers)
        times.append((perf_counter() - began) * 1000)
        assert response.status_code == status, (address, response.status_code)
    return times[1:]


def measure(client, c):
    return {
        name: timed(client, address, headers, status)
        for name, address, headers, status in addresses(client, c)
    }


def say(line=""):
    sys.stdout.write(line + "\n")


def table(title, measured):
    """One line a size; gives the factor by which the medians grow from the first to the last."""
    first, last = measured[min(measured)], measured[max(measured)]
    say(f"{title:>22}" + "".join(f"{name:>17}" for name in first))
    for size, row in measured.items():
        cells = (
            f"{median(times):8.1f} /{quantiles(times, n=20)[-1]:7.1f}" for times in row.values()
        )
        say(f"{size:>22,}" + "".join(cells))
    factors = (f"{name} x{median(last[name]) / median(first[name]):.1f}" for name in first)
    say(f"From {min(measured):,} to {max(measured):,}: {', '.join(factors)}.")
    say()


def main():
    setup_test_environment()
    call_command("migrate", verbosity=0)
    client = Client()
    client.force_login(person("alice"))
    say(f"Milliseconds, median / p95 of {RUNS} runs.\n")
    plans = {count: measure(client, give_plan(with_messages(10), count)) for count in SUBTASKS}
    table("subtasks", plans)
    chats = {count: measure(client, give_plan(with_messages(count), 10)) for count in MESSAGES}
    table("messages", chats)


def run():
    try:
        main()
    finally:
        shutil.rmtree(settings.PLANSIDE_HOME, ignore_errors=True)


if __name__ == "__main__":
    run()
