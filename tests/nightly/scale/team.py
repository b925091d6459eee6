"""Several real processes on one PostgreSQL database and one Redis."""

import re
import signal
import socket
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

import httpx
import psycopg

from tests.console.serving import DEADLINE, ROOT, Script, Started, surroundings
from tests.console.sockets import Page, text_of

LEASE = 2  # seconds


class Worker:
    """A process that runs turns and nothing else."""

    def __init__(self, home, environment):
        self.process = subprocess.Popen(
            [sys.executable, "manage.py", "worker"],
            cwd=ROOT,
            env=surroundings(home) | environment,
            stderr=subprocess.PIPE,
            text=True,
        )

    def send(self, how):
        self.process.send_signal(how)

    def end(self, how=signal.SIGTERM):
        """Seconds it took, exit code, and what it said."""
        began = time.monotonic()
        self.process.send_signal(how)
        _, err = self.process.communicate(timeout=DEADLINE)
        return time.monotonic() - began, self.process.returncode, err


@contextmanager
def stopped_if_it_fails(team):
    try:
        yield
    except BaseException:
        team.close()
        raise


class Team:
    """Two servers that run no turns, and the workers that do."""

    def __init__(self, home, database, redis, model, webs=2, workers=2):
        self.home, self.database, self.model = home, database, model
        self.environment = {
            "DATABASE_URL": database,
            "REDIS_URL": redis,
            "PLANSIDE_WORKERS": "external",
            "PLANSIDE_LEASE_SECONDS": str(LEASE),
            "PLANSIDE_MODEL_RETRY_BASE": "0.1",
            "OPENAI_BASE_URL": model.url,
            "OPENAI_API_KEY": "k",
            "PLANSIDE_MODEL": "openai/scripted",
        }
        self.webs, self.workers = [], []
        with stopped_if_it_fails(self), ThreadPoolExecutor() as threads:
            # all at once, on an empty database and in an empty home
            starting = [threads.submit(Started, home, **self.environment) for _ in range(webs)]
            self.workers += [Worker(home, self.environment) for _ in range(workers)]
            self.webs += [one.result() for one in starting]
            self.person = Script(home, **self.environment)
            self.pages = signed_in(self.webs)

    def close(self):
        for process in [each.process for each in (*self.webs, *self.workers)]:
            if process.poll() is None:
                process.kill()
            if complaints := process.communicate()[1]:
                print(complaints)  # noqa: T201 - shown when something has failed

    def new_worker(self):
        self.workers.append(Worker(self.home, self.environment))
        return self.workers[-1]

    def rows(self, sql, *values):
        with psycopg.connect(self.database) as connection:
            return connection.execute(sql, values).fetchall()

    def until(self, sql, *values):
        """The rows, as soon as there are any."""
        end = time.monotonic() + DEADLINE
        while not (found := self.rows(sql, *values)):
            assert time.monotonic() < end, f"did not come true: {sql} {values}"
            time.sleep(0.02)
        return found

    def until_served(self):
        """Until each worker has shown that it listens, so that a signal finds it at work."""
        self.until(
            "SELECT 1 FROM pg_stat_activity WHERE datname = current_database() "
            "AND query LIKE 'LISTEN%%' HAVING count(*) >= %s",
            sum(worker.process.poll() is None for worker in self.workers),
        )

    def conversation(self, web=0):
        return self.person.post(self.webs[web], "/conversations", {"agent": "docs-writer"})["id"]

    def say(self, c, text, web=0):
        return self.person.post(self.webs[web], f"/conversations/{c}/messages", {"text": text})

    def messages(self, c, is_so=bool, web=0):
        found = self.person.wait_until(
            self.webs[web], f"/conversations/{c}/messages", lambda found: is_so(found["items"])
        )
        return found["items"]

    def plan(self, c, is_so=bool, web=0):
        """The plan in the drawer, as soon as it is so."""
        path = f"/conversations/{c}/plan"
        return self.person.wait_until(self.webs[web], path, lambda plan: plan and is_so(plan))

    def proposed(self, goal, web=0):
        """A conversation whose plan waits for a yes."""
        c = self.conversation(web)
        self.say(c, f"/plan {goal}", web)
        return c, self.plan(c, lambda plan: plan["attention"] == "confirm", web)

    @contextmanager
    def watching(self, c, web):
        """A page of this conversation, open for the length of a block."""
        watcher = Watcher(self.pages[web], c)
        try:
            yield watcher
        finally:
            watcher.close()

    def seqs(self, c, web=0):
        found = self.person.get(self.webs[web], f"/conversations/{c}/events?after=0")
        return [event["seq"] for event in found["items"]]


def signed_in(webs):
    """One person's browser at each server: the link printed last signs in, and holds for all."""
    pages = [Page(web) for web in webs]
    cookies = next(page.cookies for page in pages if "sessionid" in page.cookies)
    for page in pages:
        page.cookies = cookies
    return pages


class Watcher:
    """An open page: what its socket has brought so far, collected by a thread."""

    def __init__(self, page, c):
        self.page, self.c, self.frames, self.closed_by = page, c, [], None
        self.socket = self.page.open(c)
        self.thread = threading.Thread(target=self.collect, daemon=True)
        self.thread.start()

    def collect(self):
        try:
            while True:
                self.frames.append((time.monotonic(), text_of(self.socket)))
        except (OSError, AssertionError) as end:
            self.closed_by = end

    def until(self, pattern, seconds=DEADLINE):
        """When the first frame came that holds it."""
        end = time.monotonic() + seconds
        while time.monotonic() < end and not self.closed_by:
            if found := [at for at, text in list(self.frames) if re.search(pattern, text)]:
                return found[0]
            time.sleep(0.01)
        last = [text[-300:] for _, text in self.frames][-3:]
        raise AssertionError(f"{pattern} is not in {last}; closed: {self.closed_by!r}")

    def html(self, path="", known=""):
        """What this browser is shown by a request of its own."""
        url = f"{self.page.origin}/c/{self.c}/{path}"
        with httpx.Client(cookies=self.page.cookies) as browser:
            return browser.get(url, headers={"If-None-Match": known})

    def close(self):
        self.socket.shutdown(socket.SHUT_RDWR)  # wakes the thread that reads
        self.thread.join(5)
        self.socket.close()


class Tail:
    """The live tail of a conversation's events over the API, collected by a thread."""

    def __init__(self, web, c, headers, last):
        self.last, self.events, self.is_listening = last, [], threading.Event()
        self.url = f"{web.address}/api/conversations/{c}/events"
        self.headers = headers | {"Accept": "text/event-stream"}
        self.thread = threading.Thread(target=self.collect, daemon=True)
        self.thread.start()
        assert self.is_listening.wait(DEADLINE)

    def collect(self):
        with httpx.stream("GET", self.url, headers=self.headers, timeout=20) as answer:
            for line in answer.iter_lines():
                self.is_listening.set()
                if line.startswith("id: "):
                    self.events.append(int(line[4:]))
                if line == f"event: {self.last}":
                    return
