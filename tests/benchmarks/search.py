"""How long finding takes among 100,000 messages of two people, one of whom has few of them.

Part of `make bench`, a table: median and slowest of 20 runs each in milliseconds, of the whole answer
of /api/search and of the messages alone, in-process through Django's test client, on SQLite and
PostgreSQL. Nothing is asserted about time. `python -m tests.benchmarks.search 20000`
runs it alone, on one of them, with fewer.
"""
# ruff: noqa: E402 - Django is set up before its models are imported

import os
import random
import subprocess
import sys
from statistics import median
from time import perf_counter

os.environ["DJANGO_SETTINGS_MODULE"] = "tests.settings"

import django

django.setup()

from django.db import connection, transaction
from django.test import Client
from django.test.utils import setup_test_environment

from agents.models import Conversation, Message
from agents.search import index_message, index_title
from tests.world import agent, person

MESSAGES = int(sys.argv[1]) if sys.argv[1:2] and sys.argv[1].isdigit() else 100_000
EACH = 200  # messages of a conversation
FEW = 100  # messages of the second person
RUNS = 20
ASKED = {
    "common, in every second": "webhook",
    "two common": "webhook de",
    "rare, in two": "zebrafish",
    "absent": "quagga",
    "one letter": "w",
    "three letters of three words": "w d a",
    "common and rare": "webhook zebrafish",
    "Chinese, one sign": "国",
    "Chinese, two signs": "中国",
    "Chinese, four signs": "中国大的",
}
HAN = (
    "的一是在不了有和人这中大为上个国我以要他时来用们生到作地于出就分对成会可主发年动同工也能下过子"
)


def vocabulary():
    letters = "abcdefghijklmnoprstuvw"
    words = ["".join(random.choices(letters, k=random.randint(2, 9))) for _ in range(20_000)]
    return ["de", "a", "w", *words], [1 / (place + 1) for place in range(20_003)]


def texts():
    words, weights = vocabulary()
    for number in range(MESSAGES):
        text = " ".join(random.choices(words, weights, k=random.randint(10, 120)))
        if number % 2 == 0:
            text += " webhook"
        if number % 10 == 0:
            text += " " + "".join(random.choices(HAN, k=40))
        yield text + " zebrafish" * (number in (777, 50_123))


def fill():
    """Every thousandth message is the second person's; gives the milliseconds of indexing one."""
    random.seed(1)
    id, took = agent(), 0.0
    owners = [person("alice"), person("bob")]
    texts_of = {owner.pk: [] for owner in owners}
    for number, text in enumerate(texts()):
        owner = owners[number % (MESSAGES // FEW) == 0]
        texts_of[owner.pk].append(text)
        if len(texts_of[owner.pk]) == EACH:
            took += talk(owner, id, texts_of[owner.pk])
            texts_of[owner.pk] = []
    took += sum(talk(owner, id, texts_of[owner.pk]) for owner in owners)
    return took * 1000 / MESSAGES


def talk(owner, agent_id, texts):
    """A conversation of these messages; gives the seconds of indexing them."""
    with transaction.atomic():
        c = Conversation.objects.create(owner=owner, agent_id=agent_id, title="About webhooks")
        index_title(c.pk, c.title)
        rows = Message.objects.bulk_create(
            Message(conversation=c, seq=seq, changed_seq=seq, role="user", text=text)
            for seq, text in enumerate(texts, 1)
        )
        began = perf_counter()
        for row in rows:
            index_message(row)
        return perf_counter() - began


def timed(client, question, kind):
    times = []
    for _ in range(RUNS + 1):
        began = perf_counter()
        response = client.get("/api/search", {"q": question, "kind": kind})
        times.append((perf_counter() - began) * 1000)
        assert response.status_code == 200, response.content
    found = response.json()["messages"]
    return times[1:], f"{found['count']:,}{'+' * found['more']}"


def main():
    setup_test_environment()
    connection.creation.create_test_db(verbosity=0, autoclobber=True)
    try:
        indexing = fill()
        with connection.cursor() as cursor:
            cursor.execute("ANALYZE")
        say(f"{connection.vendor}, {MESSAGES:,} messages, {indexing:.2f} ms to index one")
        for name in ("alice", "bob"):
            client = Client()
            client.force_login(person(name))
            table(client, name)
    finally:
        connection.creation.destroy_test_db("", verbosity=0)


def table(client, name):
    say(f"{name:>30}{'found':>10}{'messages':>18}{'all kinds':>18}")
    for what, question in ASKED.items():
        own, found = timed(client, question, "messages")
        every, _ = timed(client, question, "all")
        cells = (f"{median(times):9.1f} /{max(times):7.1f}" for times in (own, every))
        say(f"{what:>30}{found:>10}" + "".join(cells))
    say()


def say(line=""):
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


def run(engines):
    """Each in a process of its own: Django is set up for one database."""
    for _, environment in engines:
        url = environment.get("DATABASE_URL")
        on = {"PLANSIDE_TEST_ON": "postgres", "TEST_DATABASE_URL": url} if url else {}
        subprocess.run(
            [sys.executable, "-m", "tests.benchmarks.search"], env=os.environ | on, check=True
        )


if __name__ == "__main__":
    main()
