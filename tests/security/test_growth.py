"""What anybody may send costs in proportion to its length: a text ten times as long takes ten times
the steps, not a hundred. Steps are the calls that Python makes, and none of them reads the whole
text once more for each fault.
"""

import json
import re
import sys
from collections import Counter

import pytest

from tests.inner import (
    LONGEST_TEXT,
    MOST_BRANCHES,
    MOST_FAULTS,
    BadFile,
    ChainFile,
    Lines,
    json_text,
    of_chain,
    parse,
    parse_agent_file,
)

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("own_home")]

WHOLE_TEXT = ("count", "splitlines", "rfind", "loads", "sub", "translate")


def calls_in(work, text):
    """How often each function is called meanwhile, those written in C included."""
    seen: Counter[str] = Counter()

    def note(frame, event, arg):
        if event == "call":
            seen[frame.f_code.co_name] += 1
        elif event == "c_call":
            seen[arg.__name__] += 1

    sys.setprofile(note)
    try:
        work(text)
    except BadFile:
        pass
    finally:
        sys.setprofile(None)
    return seen


def chain(tasks):
    return json.dumps({"id": "x", "description": "d", "tasks": tasks}, indent=1)


def task(number, **values):
    return {"id": f"t{number}", "handler": "noop", **values}


def lost_ways(n):
    ways = [{"operator": "equals", "when": f"w{i}", "goto": "q"} for i in range(20)]
    return chain([task(i, transition={"branches": ways}) for i in range(n // 20)])


def routes(n):
    """Each label holds the one before it."""
    ways = [{"operator": "contains", "when": "w" * (i + 1), "goto": "t0"} for i in range(10)]
    return chain([task(i, handler="route", transition={"branches": ways}) for i in range(n // 10)])


def macros(n):
    return chain([task(0, prompt_template="{{.q}}\n" * n)])


def unknown_keys(n):
    return chain([task(0, **{f"k{i}": 1 for i in range(n)})])


def wrong_types(n):
    return chain([{"id": i, "handler": 1} for i in range(n)])


def unknown_tools(n):
    return chain([task(0, execute_config={"tools": [f"x{i}" for i in range(n)]})])


def twins(n):
    return "{" + ",\n".join(f'"{i:x}": 0' for i in range(n)) + f', "{n - 1:x}": 1}}'


CHAINS = [lost_ways, routes, macros, unknown_keys, wrong_types, unknown_tools, twins]


def grants(n):
    return json.dumps({"name": "x", "tools": {f"k{i}": 1 for i in range(n)}}, indent=1)


def allowed_calls(n):
    return json.dumps({"name": "x", "always_allow": [{"tool": 1}] * n}, indent=1)


AGENTS = [grants, allowed_calls, twins]


def demand_linear(work, text_of):
    calls_in(work, text_of(40))  # what is made once
    few, many = calls_in(work, text_of(100)), calls_in(work, text_of(1_000))
    assert sum(many.values()) < 13 * sum(few.values()), (many - few).most_common(5)
    for name in WHOLE_TEXT[:3]:
        assert many[name] <= few[name] + 200, (name, few[name], many[name])


@pytest.mark.parametrize("text_of", AGENTS)
def test_so_is_the_file_of_an_agent(text_of):
    demand_linear(lambda text: parse_agent_file(text, "x"), text_of)


def test_each_list_and_object_is_read_once(monkeypatch):
    read = []
    places_of_values = json_text.places_of_values

    def counted(text, place):
        read.append(place)
        return places_of_values(text, place)

    monkeypatch.setattr(json_text, "places_of_values", counted)
    lines = Lines(json.dumps({"a": [{"b": i} for i in range(100)]}, indent=1))
    found = [lines.line_of(["a", i, "b"]) for i in range(100)]
    assert found == [4 + 3 * i for i in range(100)]
    assert len(read) == len(set(read)) == 102


def test_labels_are_compared_with_few_others():
    ways = [
        {"operator": "equals", "when": f"w{i}", "goto": "end"} for i in range(MOST_BRANCHES + 1)
    ]
    [fault] = of_chain(chain([task(0, handler="route", transition={"branches": ways})]), "x")
    assert str(MOST_BRANCHES) in fault.sentence


def test_a_chain_has_a_length():
    [fault] = of_chain(chain([task(0, description="x" * LONGEST_TEXT)]), "x")
    assert "at most 500,000 characters" in fault.sentence


def test_of_many_faults_the_first_are_shown_and_the_others_counted():
    faults = of_chain(lost_ways(2_000), "x")
    assert len(faults) == MOST_FAULTS
    assert re.fullmatch(r"And [\d,]+ more from here on\.", faults[-1].sentence)
    assert faults[-1].line == max(fault.line for fault in faults)
    file = ChainFile("x", "x", lost_ways(2_000), "", faults)
    assert sum(len(line.faults) for line in file.lines) == MOST_FAULTS


def test_long_numbers_are_looked_for_once_each():
    assert json_text.LONG_NUMBER.search("1" * 4300 + " " + "2" * 4301).start() == 4301
    assert not json_text.LONG_NUMBER.match("1" * 5000, 100), "never from within a number"
    with pytest.raises(BadFile, match="too many digits"):
        parse("[" + "1" * 4301 + "]")


def test_a_key_that_looks_like_a_place_breaks_nothing():
    assert of_chain(chain([task(0, **{"[" + "9" * 5_000 + "]": 1})]), "x")
