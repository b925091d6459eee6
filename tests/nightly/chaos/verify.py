"""What has to be true when everything has come to rest, read from the rows and the files."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from tests.nightly.chaos.homes import Place, as_json
from tests.nightly.chaos.model import BULK, UNDONE, size_of, steps_of
from tests.nightly.chaos.people import STOCK, Witness

Row = dict[str, Any]

SUBTASKS = """
    SELECT s.id, s.plan_id, s.key, s.checks, s.name, s.state, s.outcome, s.position, s.started_at,
      s.finished_at, p.title, p.state plan_state, p.run, p.conversation_id
    FROM plans_subtask s JOIN plans_plan p ON p.id = s.plan_id ORDER BY s.plan_id, s.position
"""
ATTEMPTS = "SELECT subtask_id, turn_id, failure_class, error FROM plans_attempt"
CALLS = """
    SELECT c.id, c.turn_id, c.tool, c.state, c.arguments, c.result, c.finished_at,
      t.conversation_id, t.kind
    FROM agents_toolcall c JOIN agents_turn t ON t.id = c.turn_id ORDER BY c.id
"""
RESULTS = """
    SELECT r.subtask_id, r.call_id, r.passed, r.asked, s.name
    FROM plans_checkresult r JOIN plans_subtask s ON s.id = r.subtask_id
"""
LINE = re.compile(r"echo '([^']+)'")


@dataclass
class Rows:
    """Everything at rest, read once."""

    subtasks: list[Row]
    attempts: dict[int, list[Row]]
    calls: list[Row]
    calls_of_turn: dict[int, list[Row]]
    lines: Counter[str]
    contents: dict[str, str]


@dataclass
class Findings:
    """What is not as it has to be, by kind, and how much was looked at."""

    faults: dict[str, list[str]] = field(default_factory=lambda: defaultdict(list))
    figures: dict[str, int] = field(default_factory=dict)

    def add(self, kind: str, faults: Iterator[str]) -> None:
        self.faults[kind].extend(faults)

    @property
    def all(self) -> list[str]:
        return [f"{kind}: {fault}" for kind, faults in self.faults.items() for fault in faults]


def verify(place: Place, plans: dict[int, str], witness: Witness) -> Findings:
    rows = read(place)
    found = Findings()
    found.add("lost", unfinished(rows, plans))
    found.add("lost", lost_outcomes(rows, witness))
    found.add("lost", lost_work(rows))
    found.add("repeated", repeated(rows))
    found.add("unsettled", unsettled(place, rows))
    found.add("order", out_of_order(rows))
    found.add("attempts", miscounted(rows))
    found.add("gaps", gaps(place))
    found.add("lost", unfinished_evidence(place))
    found.add("half-written", half_written(place))
    found.add("invented", invented(place, rows))
    found.add("shown", iter(witness.complaints))
    found.figures = {
        "plans": len(plans),
        "subtasks": len(rows.subtasks),
        "tool calls": len(rows.calls),
        "interrupted": sum(call["state"] == "interrupted" for call in rows.calls),
        "results of checks": count_of(place, "plans_checkresult"),
        "recordings": count_of(place, "agents_recording"),
        "undos, each brought back": count_of(place, "agents_undo"),
        "snapshots seen": witness.snapshots,
        "events": count_of(place, "agents_event"),
    }
    return found


def count_of(place: Place, table: str) -> int:
    return int(place.query(f"SELECT count(*) n FROM {table}")[0]["n"])


def read(place: Place) -> Rows:
    calls = place.query(CALLS)
    attempts, calls_of_turn = defaultdict(list), defaultdict(list)
    for attempt in place.query(ATTEMPTS):
        attempts[attempt["subtask_id"]].append(attempt)
    for call in calls:
        call["arguments"] = as_json(call["arguments"])
        calls_of_turn[call["turn_id"]].append(call)
    files = [path for path in place.files.rglob("*.txt") if "files" in path.parts]
    logs = [path for path in files if path.name.startswith("log-")]
    lines = Counter(line for path in logs for line in path.read_text().splitlines())
    contents = {path.stem: path.read_text() for path in files if path not in logs}
    return Rows(place.query(SUBTASKS), attempts, calls, calls_of_turn, lines, contents)


def unfinished(rows: Rows, plans: dict[int, str]) -> Iterator[str]:
    """Every plan that was asked for is done, with each of its subtasks."""
    found = Counter(subtask["plan_id"] for subtask in rows.subtasks)
    for plan, token in plans.items():
        if found[plan] != size_of(token):
            yield f"plan {plan} has {found[plan]} of {size_of(token)} subtasks"
    for subtask in rows.subtasks:
        states = (subtask["state"], subtask["plan_state"], subtask["run"])
        if states != ("done", "done", "idle"):
            yield f"{subtask['name']} ended as {states}"


def lost_outcomes(rows: Rows, witness: Witness) -> Iterator[str]:
    """The outcome is what the model said when it finished, and what the API once showed."""
    for subtask in rows.subtasks:
        said = [call["arguments"].get("outcome") for call in calls_for(rows, subtask)]
        if subtask["outcome"] not in said:
            yield f"{subtask['name']} has the outcome {subtask['outcome']!r}"
        shown = witness.done.get((subtask["plan_id"], subtask["key"]), subtask["outcome"])
        if shown != subtask["outcome"]:
            yield f"{subtask['name']} was shown as {shown!r} and is {subtask['outcome']!r}"


def lost_work(rows: Rows) -> Iterator[str]:
    """What is recorded as done is there: each file as written, each line as appended."""
    for call in rows.calls:
        if call["state"] != "done":
            continue
        if call["tool"] == "write_file":
            name = call["arguments"]["path"].removesuffix(".txt")
            if rows.contents.get(name) != call["arguments"]["content"]:
                yield f"call {call['id']}: {name} holds {rows.contents.get(name)!r}"
        if (line := line_of(call)) and not rows.lines[line]:
            yield f"call {call['id']}: the line {line!r} is not there"


def repeated(rows: Rows) -> Iterator[str]:
    """No step of a subtask happens twice, and no line is there twice, whoever wrote it."""
    for line, times in rows.lines.items():
        if times > 1:
            yield f"the line {line!r} is there {times} times"
    written = Counter(line.partition(" ")[0] for line in rows.lines)
    for subtask in rows.subtasks:
        name = subtask["name"]
        steps = Counter(steps_done(calls_for(rows, subtask)))
        steps.update(line_steps(name, written))
        for step in steps_of(name):
            if steps[step] != 1:
                yield f"{name}: {step} happened {steps[step]} times"


def steps_done(calls: list[Row]) -> Iterator[str]:
    for call in calls:
        if call["state"] == "done" and call["tool"] in ("write_file", "finish_subtask"):
            yield call["tool"]


def line_steps(name: str, written: Counter[str]) -> Counter[str]:
    """Lines may also stem from calls whose effect was unknown: the log counts, not the calls."""
    return Counter({f"line {m}": n for m, n in written.items() if m.rpartition(".")[0] == name})


def unsettled(place: Place, rows: Rows) -> Iterator[str]:
    for call in rows.calls:
        if call["state"] not in ("done", "interrupted") and not found_no_log(call):
            yield f"call {call['id']} of {call['tool']} ended as {call['state']!r}"
        if call["state"] == "interrupted" and call["tool"] in ("write_file", "read_file"):
            yield f"call {call['id']} of {call['tool']} may be repeated and was not"
    for turn in place.query("SELECT id, state FROM agents_turn WHERE state != 'done'"):
        yield f"turn {turn['id']} is {turn['state']}"
    for row in place.query("SELECT id FROM agents_message WHERE streaming"):
        yield f"message {row['id']} is still being written"


def found_no_log(call: Row) -> bool:
    """A look at the log before its first line was written: the kill came that early."""
    is_look = call["tool"] == "read_file" and call["state"] == "failed"
    return is_look and "does not exist" in call["result"]


def out_of_order(rows: Rows) -> Iterator[str]:
    """A subtask begins when the one before it has ended."""
    for before, after in zip(rows.subtasks, rows.subtasks[1:], strict=False):
        if before["plan_id"] == after["plan_id"] and before["finished_at"] > after["started_at"]:
            yield f"{after['name']} began before {before['name']} had ended"


def miscounted(rows: Rows) -> Iterator[str]:
    """An interruption by a kill is no failure: every subtask took one attempt."""
    for subtask in rows.subtasks:
        attempts = rows.attempts[subtask["id"]]
        if len(attempts) != 1 or attempts[0]["failure_class"]:
            yield f"{subtask['name']} took {[a['failure_class'] for a in attempts]}"


def unfinished_evidence(place: Place) -> Iterator[str]:
    """Every recording ended, every undo was carried out whole."""
    for row in place.query("SELECT turn_id, ended_at, stopped FROM agents_recording"):
        if not row["ended_at"] or row["stopped"]:
            yield f"the recording of turn {row['turn_id']} {row['stopped'] or 'did not end'}"
    for row in place.query("SELECT id, finished_at, kept FROM agents_undo"):
        if not row["finished_at"] or as_json(row["kept"]):
            yield f"undo {row['id']} is not finished, or left {row['kept']}"


def half_written(place: Place) -> Iterator[str]:
    """In the end every file that was put back holds what was written, all of it, and is there."""
    files = place.files / "undone" / "files"
    found = Counter()
    for path in (files / "bulk").iterdir():
        name = path.name.rpartition(".")[0]
        found[name] += 1
        if path.read_text() != name:
            yield f"{path.name} holds {path.read_text()!r}"
    names = [f"c{UNDONE}-{n}" for n in range(1, size_of(f"c{UNDONE}") + 1)]
    if found != Counter(dict.fromkeys(names, BULK)):
        yield f"of the files that were put back there are {dict(found)}"
    stock = [path.read_text() == f"{path.stem}\n" for path in (files / "stock").iterdir()]
    if stock != [True] * STOCK:
        yield f"of the {STOCK} files that nobody touched there are {len(stock)}"


def invented(place: Place, rows: Rows) -> Iterator[str]:
    """Of what is done each check has passed once, and a command ran for each of its own."""
    results = place.query(RESULTS)
    of_finish = defaultdict(list)
    for row in results:
        if row["call_id"]:
            of_finish[row["subtask_id"]].append(bool(row["passed"]))
    for subtask in rows.subtasks:
        if (found := of_finish[subtask["id"]]) != [True] * len(as_json(subtask["checks"])):
            yield f"{subtask['name']}: its checks came to {found}"
    logs = place.files.glob("*/ran.log")
    ran = Counter(name for log in logs for name in log.read_text().split())
    said = Counter(
        row["name"]
        for row in results
        if row["passed"] and as_json(row["asked"])["kind"] == "command"
    )
    for name, times in said.items():
        if times > ran[name]:
            yield f"{name}: its command passed {times} times and ran {ran[name]} times"


def gaps(place: Place) -> Iterator[str]:
    seqs: dict[int, list[int]] = defaultdict(list)
    for row in place.query("SELECT conversation_id, seq FROM agents_event ORDER BY seq"):
        seqs[row["conversation_id"]].append(row["seq"])
    for row in place.query("SELECT id, seq FROM agents_conversation"):
        if seqs[row["id"]] != list(range(1, row["seq"] + 1)):
            yield f"conversation {row['id']}: {len(seqs[row['id']])} events up to {row['seq']}"


def calls_for(rows: Rows, subtask: Row) -> list[Row]:
    turns = [attempt["turn_id"] for attempt in rows.attempts[subtask["id"]]]
    return [call for turn in turns for call in rows.calls_of_turn[turn]]


def line_of(call: Row) -> str:
    found = LINE.search(call["arguments"].get("command", "")) if call["tool"] == "shell" else None
    return found[1] if found else ""
