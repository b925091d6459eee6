"""The account of a chaos run names what is wrong: each fault is planted, in rows and files."""

from collections import Counter
from types import SimpleNamespace

import pytest

from tests.nightly.chaos.model import BULK, UNDONE, size_of
from tests.nightly.chaos.people import STOCK
from tests.nightly.chaos.verify import Rows, half_written, invented, unfinished_evidence

NAMES = [f"c{UNDONE}-{n}" for n in range(1, size_of(f"c{UNDONE}") + 1)]


@pytest.fixture
def place(tmp_path):
    """Two subtasks, one of them with a command that has run, and an undone folder as it has to be."""
    bulk, stock = tmp_path / "undone" / "files" / "bulk", tmp_path / "undone" / "files" / "stock"
    bulk.mkdir(parents=True)
    stock.mkdir()
    for name in NAMES:
        for number in range(1, BULK + 1):
            (bulk / f"{name}.{number}").write_text(name)
    for number in range(STOCK):
        (stock / f"{number}.dat").write_text(f"{number}\n")
    (tmp_path / "undone" / "ran.log").write_text("one\n")
    tables = {
        "plans_checkresult": [
            {"subtask_id": 1, "call_id": 1, "passed": True, "asked": {"kind": kind}, "name": "one"}
            for kind in ("file", "command")
        ],
        "agents_recording": [{"turn_id": 1, "ended_at": "now", "stopped": ""}],
        "agents_undo": [{"id": 1, "finished_at": "now", "kept": []}],
    }

    def query(sql):
        return next(rows for table, rows in tables.items() if f"FROM {table}" in sql)

    return SimpleNamespace(files=tmp_path, query=query, tables=tables, bulk=bulk)


def faults(place):
    subtask = {"id": 1, "name": "one", "checks": [{}, {}]}
    rows = Rows([subtask], {}, [], {}, Counter(), {})
    return [*half_written(place), *invented(place, rows), *unfinished_evidence(place)]


def test_nothing_is_found_where_nothing_is_wrong(place):
    assert faults(place) == []


def half_a_file(place):
    (place.bulk / f"{NAMES[0]}.1").write_text(NAMES[0][:3])
    return f"{NAMES[0]}.1 holds '{NAMES[0][:3]}'"


def no_file(place):
    (place.bulk / f"{NAMES[0]}.1").unlink()
    return f"'{NAMES[0]}': {BULK - 1}"


def no_command(place):
    (place.files / "undone" / "ran.log").write_text("")
    return "one: its command passed 1 times and ran 0 times"


def no_result(place):
    place.tables["plans_checkresult"].pop()
    return "one: its checks came to [True]"


def a_failed_check(place):
    place.tables["plans_checkresult"][0]["passed"] = False
    return "one: its checks came to [False, True]"


def no_end_of_a_recording(place):
    place.tables["agents_recording"][0]["ended_at"] = None
    return "the recording of turn 1 did not end"


def no_end_of_an_undo(place):
    place.tables["agents_undo"][0]["finished_at"] = None
    return "undo 1 is not finished"


PLANTED = [
    *(half_a_file, no_file, no_command, no_result, a_failed_check),
    *(no_end_of_a_recording, no_end_of_an_undo),
]


@pytest.mark.parametrize("plant", PLANTED)
def test_what_is_wrong_is_named(place, plant):
    words = plant(place)
    [fault] = faults(place)
    assert words in fault
