"""One random history of a folder in which an agent, people and other turns work, and its account.

The account knows who wrote what, since it looks at the folder before and after each act, at what
the kernel notes too: who sets a mode or links a file has had it in hand as well. It says
what must never happen: a change that is not listed, that is called somebody else's, or that an
undo, or the undo of an undo, does not bring back.
"""

from __future__ import annotations

import random
import shlex
import shutil
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import httpx

from tests.nightly.histories.world import PATIENCE, Stamps, Tree, World, stamps_of, tree_of

FOLDERS = ("build", "build.old", "src", "src/deep", "d", "d2", "docs")
NAMES = ("m.py", "x", "y", "notes.md", "a b.txt", "é.txt", ".m", "run.sh")


@dataclass
class Act:
    """What somebody did, and the paths at which something is another since."""

    who: str
    what: str
    touched: set[str]
    moved: dict[str, str] = field(default_factory=dict)  # to where, from where


def differing(before: Mapping[str, object], after: Mapping[str, object]) -> set[str]:
    return {path for path in {*before, *after} if before.get(path) != after.get(path)}


def act_between(who: str, what: str, before: Stamps, after: Stamps) -> Act:
    def is_another(path: str, one: Stamps, other: Stamps) -> bool:
        return path not in other or one[path][0] != other[path][0]

    left = {each[0]: path for path, each in before.items() if is_another(path, before, after)}
    came = {path: each[0] for path, each in after.items() if is_another(path, after, before)}
    moved = {path: left[inode] for path, inode in came.items() if inode in left}
    return Act(who, what, differing(before, after), moved)


@dataclass
class TurnDone:
    """A turn that has ended: its id, and the acts that lie between its beginning and its end."""

    token: str
    id: int
    before: Tree
    after: Tree
    acts: list[Act]
    listed: list[str] = field(default_factory=list)  # paths that the product lists
    unsure: set[str] = field(default_factory=set)  # of which it says so, or that both wrote it

    def touched_by(self, is_own: bool) -> set[str]:
        own = (act.touched for act in self.acts if (act.who == self.token) == is_own)
        return set().union(*own)

    def written_by(self, is_own: bool) -> set[str]:
        """Those that they touched, or that hold what they touched before it was moved there."""
        found = set[str]()
        for act in self.acts:
            came = {to for to, was in act.moved.items() if was in found}
            found |= came | (act.touched if (act.who == self.token) == is_own else set())
        return found


@dataclass
class History:
    """`is_alone`: nobody but the agent writes, so nothing may be unsure."""

    world: World
    seed: int
    has_kills: bool = False
    since: Stamps = field(default_factory=dict)  # how others left the folder during a command
    log: list[str] = field(default_factory=list)
    faults: list[str] = field(default_factory=list)
    counts: dict[str, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.random = random.Random(self.seed)
        self.is_alone = self.random.random() < 0.35
        self.agent = f"h{self.seed}"
        self.folder = self.world.home / "workspaces" / self.agent / "files"
        self.acts: list[Act] = []
        self.number = self.turns = 0
        self.deleted: list[str] = []  # keys with which a person may bring something back
        self.in_turn = ""
        self.last: Tree = {}

    # The story

    def run(self) -> None:
        tools = {
            "shell": "allow",
            "write_file": "allow",
            "edit_file": "allow",
            "read_file": "allow",
        }
        helper = f"{self.agent}h"
        for name, more in ((helper, {}), (self.agent, {f"run_agent:{helper}": "allow"})):
            self.world.done("POST", "/agents", json={"id": name, "tools": tools | more})
        self.folder.mkdir(parents=True, exist_ok=True)
        for _ in range(self.random.randint(6, 14)):
            self.by("person", "a file of before", self.write_on_disk)
        done = [self.turn()]
        for _ in range(self.random.randint(1, 4)):
            what = self.random.choice(["turn", "undo", "undo", "undo", "person"])
            if what == "turn":
                done.append(self.turn())
            elif what == "person":
                self.person()
            else:
                self.undo(self.random.choice([done[-1], self.random.choice(done)]))
        if not any("undo " in line for line in self.log):
            self.undo(done[-1])

    def say(self, kind: str, what: str) -> None:
        self.faults.append(f"{kind}: {what}")

    def count(self, what: str, by: int = 1) -> None:
        self.counts[what] = self.counts.get(what, 0) + by

    def by(self, who: str, what: str, act: Callable[[], object]) -> None:
        before = stamps_of(self.folder)
        act()
        self.acts.append(act_between(who, what, before, stamps_of(self.folder)))
        self.log.append(f"{who}: {what}")

    def text(self) -> str:
        """No other one is like it."""
        self.number += 1
        return f"{self.seed}.{self.number} of {self.in_turn or 'a person'}\n"

    # What people do

    def person(self) -> None:
        by_planside = [self.put, self.put, self.rename, self.delete, self.restore]
        on_disk = [self.write_on_disk, self.save_on_disk, self.delete_on_disk, self.move_on_disk]
        act = self.random.choice([*by_planside, *on_disk, self.chmod_on_disk])
        self.by("person", act.__name__, act)

    def some_path(self, is_new: float = 0.5) -> str:
        there = sorted(tree_of(self.folder))
        if there and self.random.random() > is_new:
            return self.random.choice(there)
        folder = self.random.choice(["", *FOLDERS])
        return f"{folder}/{self.random.choice(NAMES)}".removeprefix("/")

    def write_on_disk(self) -> None:
        path = self.folder / self.some_path()
        text, self.in_turn = self.text_of_person(), self.in_turn
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        except OSError:  # a file in the place of a folder, or a link to nowhere
            return

    def save_on_disk(self) -> None:
        """As editors do it, also with a file that others made."""
        path = self.folder / self.some_path(0.2)
        if path.is_file() and not path.is_symlink():
            half = path.with_name(".half-saved")
            half.write_text(self.text_of_person())
            half.rename(path)

    def delete_on_disk(self) -> None:
        path = self.folder / self.some_path(0)
        if path.is_symlink() or path.is_file():
            path.unlink()
        if self.random.random() < 0.2 and path.parent != self.folder:
            shutil.rmtree(path.parent, ignore_errors=True)

    def move_on_disk(self) -> None:
        path, to = self.folder / self.some_path(0), self.folder / self.some_path(1)
        if self.random.random() < 0.3 and path.parent != self.folder:
            path = path.parent
        if path.exists() and not to.exists() and path not in to.parents:
            try:
                to.parent.mkdir(parents=True, exist_ok=True)
                path.rename(to)
            except OSError:  # a file in the place of a folder
                return

    def chmod_on_disk(self) -> None:
        path = self.folder / self.some_path(0)
        if path.is_file() and not path.is_symlink():
            path.chmod(self.random.choice([0o644, 0o755]))

    def text_of_person(self) -> str:
        kept, self.in_turn = self.in_turn, ""
        text, self.in_turn = self.text(), kept
        return text

    def files(self, method: str, part: str = "", **how: Any) -> httpx.Response:
        return self.world.ask(method, f"/agents/{self.agent}/files{part}", **how)

    def put(self) -> None:
        asked = {"path": self.some_path(), "if_taken": "replace"}
        answer = self.files("PUT", "/content", params=asked, content=self.text_of_person().encode())
        if answer.is_success and answer.json().get("replaced"):
            self.deleted.append(answer.json()["replaced"])

    def rename(self) -> None:
        self.files("POST", "/rename", json={"path": self.some_path(0), "to": self.some_path(1)})

    def delete(self) -> None:
        answer = self.files("DELETE", params={"path": self.some_path(0)})
        if answer.is_success:
            self.deleted.append(answer.json()["deleted"])

    def restore(self) -> None:
        if self.deleted:
            self.files("POST", "/restore", json={"deleted": self.deleted.pop()})

    # What an agent does

    def turn(self, who: str = "", is_other: bool = False) -> TurnDone:
        self.turns += 1
        token = f"h{self.seed}-{self.turns}"
        outer, self.in_turn = self.in_turn, token
        before, begins = tree_of(self.folder), len(self.acts)
        calls = 1 if is_other else self.random.randint(1, 4)
        pending: list[tuple[str, Stamps]] = []  # the call that is under way, with what was before

        def ended() -> None:
            if pending:
                what, was = pending.pop()
                now = stamps_of(self.folder)
                act = act_between(token, what, was, now)
                act.moved |= act_between(token, what, self.since, now).moved
                self.acts.append(act)
                self.since = {}
                self.log.append(f"{token}: {what}")

        def step(made: int) -> tuple[str, dict[str, Any]] | None:
            """Between two calls others may do something."""
            ended()
            while not self.is_alone and not is_other and self.random.random() < 0.35:
                self.between()
            self.in_turn = token
            if made >= calls:
                return None
            tool, arguments = self.a_call(is_other)
            pending.append((f"{tool} {arguments}", stamps_of(self.folder)))
            return tool, arguments

        self.world.steps[token] = self.heard(step)
        conversation = self.world.done("POST", "/conversations", json={"agent": who or self.agent})
        said = {"text": f"Do {token}"}
        path = f"/conversations/{conversation['id']}/messages"
        id = int(self.world.done("POST", path, json=said)["turn"]["id"])
        self.wait_until(lambda: self.has_ended(path, token, id))
        self.in_turn = outer
        done = TurnDone(token, id, before, tree_of(self.folder), self.acts[begins:])
        self.check_list(done)
        return done

    def heard(self, step: Callable[[int], Any]) -> Callable[[int], Any]:
        """A fault of the script itself ends the turn, and is told."""

        def safe(made: int) -> Any:
            try:
                return step(made)
            except Exception as fault:
                self.say("the script", repr(fault))
                return None

        return safe

    def between(self) -> None:
        if self.random.random() < 0.25:
            self.turn(is_other=True)
        else:
            self.person()

    def has_ended(self, path: str, token: str, id: int) -> bool:
        """The undo is offered once the turn is over and its folder is recorded."""
        messages = self.world.done("GET", path)["items"]
        ends = (f"{token} is done.", "Nothing to do.")
        is_said = any(each["text"] in ends and not each["streaming"] for each in messages)
        return is_said and "not ended" not in self.world.ask("GET", f"/turns/{id}/undo").text

    def wait_until(self, holds: Callable[[], bool]) -> None:
        until = time.monotonic() + PATIENCE
        while not holds():
            assert time.monotonic() < until, "it took too long"
            time.sleep(0.03)

    def a_call(self, is_other: bool) -> tuple[str, dict[str, Any]]:
        draw = self.random.random()
        if draw < 0.2:
            return "write_file", {"path": self.some_path(), "content": self.text()}
        if draw < 0.27 and (old := self.a_text()):
            return "edit_file", {"path": old[0], "old": old[1], "new": self.text()}
        if draw < 0.34 and not is_other:
            return "run_agent", {"agent": f"{self.agent}h", "task": self.task()}
        command = " ; ".join(self.a_command() for _ in range(self.random.choice([1, 1, 1, 2, 3])))
        if not self.is_alone and not is_other and self.random.random() < 0.2:
            command = f"{command} ; {self.meanwhile()} ; {self.a_command()}"
        return "shell", {"command": command}

    def a_text(self) -> tuple[str, str] | None:
        texts = [
            (path, content.decode())
            for path, (kind, _, content) in sorted(tree_of(self.folder).items())
            if kind == "file" and content.endswith(b"\n")
        ]
        return self.random.choice(texts) if texts else None

    def task(self) -> str:
        """While the sub-agent works, in a folder of its own, people go on in this one."""
        self.turns += 1
        token = f"h{self.seed}-{self.turns}"

        def step(made: int) -> tuple[str, dict[str, Any]] | None:
            if made:
                return None
            if not self.is_alone:
                self.person()
            return "shell", {"command": f"echo {token} > out.txt"}

        self.world.steps[token] = self.heard(step)
        return f"Do {token}"

    def meanwhile(self) -> str:
        """A command waits until somebody else has done something."""
        self.turns += 1
        went, goes = (self.world.home / f"{self.agent}.{self.turns}.{each}" for each in ("w", "g"))

        def act() -> None:
            until = time.monotonic() + 20
            while not goes.exists():
                if time.monotonic() > until:
                    return
                time.sleep(0.01)
            self.person()
            self.since = stamps_of(self.folder)
            went.touch()

        threading.Thread(target=act, daemon=True).start()
        wait = f"for i in $(seq 900); do [ -e {went} ] && break; sleep .02; done"
        return f"touch {goes} ; {wait}"

    def a_folder(self) -> str:
        """Mostly one that is there."""
        there = sorted({path.rpartition("/")[0] for path in tree_of(self.folder)} - {""})
        is_there = there and self.random.random() < 0.85
        return shlex.quote(self.random.choice(there if is_there else FOLDERS))

    def a_command(self) -> str:
        q = shlex.quote
        old, other, new = q(self.some_path(0)), q(self.some_path(0)), q(self.some_path(1))
        folder, to = self.a_folder(), self.a_folder()
        text = q(self.text().strip())
        make = f"mkdir -p $(dirname {new})"
        return self.random.choice(
            [
                f"{make} && echo {text} > {new}",
                f"echo {text} > {old}",
                f"echo {text} >> {old}",
                f"{make} && cp {old} {new}",
                f"cp -p {old} {other}",
                f"{make} && mv {old} {new}",
                f"mv -f {old} {other}",
                f"mv {folder} {to}",
                f"mv {folder} {to}.moved",
                f"mv {folder} tmp && mv {to} {folder} && mv tmp {to}",
                f"mkdir -p build.new && echo {text} > build.new/x && mv build build.old && mv build.new build",
                f"mkdir -p build.new && echo {text} > build.new/y && rm -rf build && mv build.new build",
                f"cp -a {folder} {to}.copy",
                f"rm -f {old}",
                f"rm -rf {folder}",
                f"ln {old} {new} 2>/dev/null ; echo {text} > {old}",
                f"ln -f {old} {new}",
                f"ln -sf {other} {new}",
                f"ln -sfn {folder} {to}.link",
                f"chmod +x {old}",
                f"sed -i s/of/OF/ {old}",
                f"{make} && echo {text} > {new} && touch -d '2001-01-01' {new}",
                f"touch -r {old} {other}",
                f"tar cf ../t{self.seed}.tar {folder} && rm -rf {folder} && tar xf ../t{self.seed}.tar",
            ]
        )

    # What must hold

    def check_list(self, turn: TurnDone) -> None:
        """The changes of a turn are those that it made."""
        answer = self.world.done("GET", f"/turns/{turn.id}/changes")
        if answer["stopped"]:
            self.say("recording", answer["stopped"])
            return
        listed: dict[str, set[str]] = {}
        for each in answer["changes"]:
            self.count(each["origin"] + (" alone" if self.is_alone else ""))
            for path in {each["path"], each["was"]} - {""}:
                listed.setdefault(path, set()).add(each["origin"])
        turn.listed = sorted({each["path"] for each in answer["changes"] if each["path"]})
        turn.unsure = {path for path, called in listed.items() if called & {"unsure", "both"}}
        own, others = turn.touched_by(True), turn.touched_by(False)
        by_own, by_others = turn.written_by(True), turn.written_by(False)
        for each in answer["changes"]:
            if each["origin"] in ("unsure", "both"):
                paths = {each["path"], each["was"]} - {""}
                both = bool(paths & by_own and paths & by_others)
                whose = "both" if both else "own" if paths & own else "theirs"
                self.count(f"{each['origin']} {whose} {each['kind']}")
                words = f"{whose}, {each['kind']}: {turn.token} {sorted(paths)}"
                self.log.append(f"{each['origin']}, {words}")
                if each["origin"] == "both" and not both:
                    self.say("called both though one wrote", words)
        for path in {*turn.before, *turn.after, *listed}:
            is_other = turn.before.get(path) != turn.after.get(path)
            called = listed.get(path, set())
            if is_other and path in own - others:
                if not called:
                    self.say("not listed", f"{turn.token} {path}")
                elif called == {"outside"}:
                    self.say("the turn's called theirs", f"{turn.token} {path}")
                elif "own" not in called and self.is_alone:
                    self.say("unsure although nobody else wrote", f"{turn.token} {path}")
            elif path in others - own and "own" in called:
                self.say("theirs called the turn's", f"{turn.token} {path}")
            elif path in own & others and called == {"own"}:
                self.count("both wrote, called the turn's")
                self.log.append(f"unsure? both wrote: {turn.token} {path}")

    def undo(self, turn: TurnDone) -> None:
        now = tree_of(self.folder)
        since = set().union(*(act.touched for act in self.acts[self.end_of(turn) :]))
        own, others = turn.touched_by(True), turn.touched_by(False)
        force = self.random.random() < 0.7
        some = self.random.random() < 0.25 and bool(turn.listed)
        named = self.random.sample(turn.listed, 1) if some else None
        undo, was_killed = self.taken_back(f"/turns/{turn.id}/undo", force, named)
        self.log.append(f"undo {turn.token} force={force} {named or 'all'}: {undo}")
        after = tree_of(self.folder)
        if was_killed and after == now:
            return
        wanted = own - others - since
        for path in (wanted & {*(named or wanted)}) if force else ():
            if self.is_blocked(path, now, others | since):
                continue
            if after.get(path) != turn.before.get(path):
                self.say("not undone", f"{turn.token} {path}")
        for path in {*now, *after} - own - (turn.unsure if force else set()):
            if after.get(path) != now.get(path):
                self.say("undone although not the turn's", f"{turn.token} {path}")
        taken = {turn.before[path][2] for path in wanted & {*turn.before}}
        if half := taken & contents(now) - contents(after):
            self.say("half of a move", f"{turn.token} {sorted(half)[:3]}")
        self.acts.append(Act("undo", turn.token, differing(now, after)))
        if not undo:
            if lost := contents(now) - contents(after):
                self.say("lost", f"{turn.token} {sorted(lost)[:3]}")
            return
        back, was_killed = self.taken_back(f"/undos/{undo}/undo", True)
        again = tree_of(self.folder)
        self.log.append(f"undo of that: {back}")
        self.acts.append(Act("undo", f"of {undo}", differing(after, again)))
        if was_killed and again == after:
            return
        for path in {*now, *again}:
            if again.get(path) != now.get(path):
                self.say("not back by the undo of the undo", f"{turn.token} {path}")
        if lost := contents(now) - contents(again):
            self.say("lost", f"{turn.token} {sorted(lost)[:3]}")
        if back and self.random.random() < 0.4:  # and the work of the turn goes again
            self.taken_back(f"/turns/{turn.id}/undo", True)
            self.acts.append(Act("undo", turn.token, differing(again, tree_of(self.folder))))

    def is_blocked(self, path: str, now: Tree, foreign: set[str]) -> bool:
        """Whether somebody else's file stands below it, or in the place of a folder above it."""
        return any(
            each.startswith(f"{path}/") or path.startswith(f"{each}/") for each in foreign & {*now}
        )

    def end_of(self, turn: TurnDone) -> int:
        return self.acts.index(turn.acts[-1]) + 1 if turn.acts else len(self.acts)

    def taken_back(
        self, path: str, force: bool, named: list[str] | None = None
    ) -> tuple[int, bool]:
        """The number of the undo, if one came of it; and whether the server was killed in it."""
        wanted = {"force": force} | ({"paths": named} if named else {})
        if not (self.has_kills and self.random.random() < 0.7):
            answer = self.world.ask("POST", path, json=wanted)
            number = answer.json()["id"] if answer.is_success else 0
            self.world.undone = max(self.world.undone, number)
            return number, False
        late = threading.Timer(self.random.random() * 0.06, self.world.kill)
        late.start()
        number = 0
        try:
            answer = self.world.ask("POST", path, json=wanted)
            number = answer.json()["id"] if answer.is_success else 0
        except httpx.HTTPError:
            pass
        late.join()
        self.world.start()
        self.wait_until(self.is_still)
        self.log.append("killed")
        number = number or self.newest_undo()
        self.world.undone = max(self.world.undone, number)
        return number, True

    def newest_undo(self) -> int:
        """The answer did not get through; on this server nobody else undoes anything."""
        number = self.world.undone
        while self.world.ask("GET", f"/undos/{number + 1}/undo").status_code != 404:
            number += 1
        return number if number > self.world.undone else 0

    def is_still(self) -> bool:
        """Whether nothing in the folder changes any more: what was cut off is finished at a start."""
        before = tree_of(self.folder)
        time.sleep(0.7)
        return tree_of(self.folder) == before


def contents(tree: Tree) -> set[bytes]:
    return {content for kind, _, content in tree.values() if kind == "file"}
