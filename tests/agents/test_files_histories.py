"""No history of what persons do with an agent's files loses one: every content that was ever stored
is in its place, or in the trash and comes back."""

import random
import threading
from collections import Counter
from contextlib import nullcontext, suppress
from pathlib import Path

import pytest
from django.db import connections

from agents.errors import NotFound, Refused
from agents.models import Trashed
from tests.inner import AgentFiles, store, trash
from tests.world import conversation, files_of

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("own_home")]
NAMES = ["a.txt", "b.txt", "docs", "docs/a.txt", "docs/b.txt", "docs/in", "docs/in/a.txt"]


class History:
    def __init__(self, seed):
        self.chance = random.Random(seed)
        self.place = AgentFiles.of(conversation())
        self.stored = Counter()
        self.lock = threading.Lock()

    def step(self):
        verb = self.chance.choice(["store", "store", "rename", "delete", "restore", "restore"])
        path, to = self.chance.choice(NAMES), self.chance.choice(NAMES)
        with suppress(Refused):
            getattr(self, verb)(path, to)

    def store(self, path, _):
        folder, _, name = path.rpartition("/")
        with self.lock:
            content = f"{len(self.stored)} {path}".encode()
            self.stored[content] = 0
        how = self.chance.choice(["refuse", "replace", "replace", "keep_both"])
        store(self.place, folder, name, [content[:1], content[1:]], how)
        self.stored[content] = 1

    def rename(self, path, to):
        self.place.rename(path, to)

    def delete(self, path, _):
        trash.delete(self.place, path)

    def restore(self, *_):
        keys = list(Trashed.objects.order_by("key").values_list("key", flat=True))
        if keys:
            trash.restore(self.place, self.chance.choice(keys))

    def contents(self):
        kept = Path(self.place.root).parents[2] / "deleted-files"
        files = [*self.place.root.rglob("*"), *kept.rglob("*")]
        return Counter(each.read_bytes() for each in files if each.is_file())

    def check(self):
        assert self.contents() == +self.stored
        assert not Trashed.objects.exclude(state="kept").exists()
        refused = 0
        for row in Trashed.objects.order_by("-at"):
            try:
                trash.restore(self.place, row.key)
            except NotFound as why:  # in the place of its folder is a file now
                assert "a part of it is a file" in str(why)
                refused += not row.was_replaced
        assert self.contents() == +self.stored
        left = Trashed.objects.exclude(was_replaced=True).count()
        assert left == refused, "all else is back"


@pytest.mark.parametrize("seed", range(300))
@pytest.mark.sampled(8)
def test_no_history_loses_a_file(seed):
    history = History(seed)
    for _ in range(30):
        history.step()
    history.check()


@pytest.mark.parametrize("locked", [True, False], ids=["one process", "several"])
@pytest.mark.parametrize("seed", range(40))
@pytest.mark.sampled(2)
def test_nor_do_several_at_once(seed, locked, monkeypatch):
    """In processes of their own, or in agents of which one works in a folder of the other's, no
    lock keeps them apart."""
    if not locked:
        monkeypatch.setattr(trash, "editing", lambda files: nullcontext())
    history = History(1_000 + seed)
    files_of(conversation())

    def work():
        try:
            for _ in range(15):
                history.step()
        finally:
            connections.close_all()

    threads = [threading.Thread(target=work) for _ in range(4)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    history.check()
