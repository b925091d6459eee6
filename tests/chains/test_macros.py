"""Macros: one pass over the author's text, and Go's way of writing a date."""

from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.inner import TemplateValues, UnknownMacro, expand, go_format, macros_in

NOW = datetime(2026, 11, 20, 9, 5, 7, 123456, tzinfo=timezone(timedelta(hours=1), "CET"))


def meanings(**more):
    known = {"now": NOW, "variables": {"model": "qwen3:8b", "provider": "ollama", "empty": ""}}
    return TemplateValues(**{**known, **more})


@pytest.mark.parametrize(
    ("text", "expanded"),
    [
        ("{{var:model}} by {{ var:provider }}", "qwen3:8b by ollama"),
        ("{{var:mood|calm}}", "calm"),
        ("{{var:empty|calm}}", "calm"),
        ("{{var:mood|}}", ""),
        ("{{now:2006-01-02}}", "2026-11-20"),
        ("{{now}}", "2026-11-20T09:05:07+01:00"),
        ("{{toolservice:list}}", "local_fs, nws"),
        ("{{chain:id}}", "mine"),
        ("{{.input}} {{.ask}}", "hello {{var:model}}"),
        ("{{.parsed.items.1}}", "two"),
        ("{{edge_count:a->b}} {{edge_count:a -> b}} {{edge_count:b->a}}", "3 3 0"),
        ("no macro { here }} {{", "no macro { here }} {{"),
    ],
)
def test_a_macro_stands_for_its_meaning(text, expanded):
    known = meanings(
        services=["local_fs", "nws"],
        chain={"id": "mine"},
        outputs={"input": "hello", "ask": "{{var:model}}", "parsed": {"items": ["one", "two"]}},
        edges={"a->b": 3},
    )
    assert expand(text, known) == expanded


@pytest.mark.parametrize(
    "text",
    ["{{var:mood}}", "{{weather:now}}", "{{.nothing}}", "{{chain:owner}}", "{{toolservice:other}}"],
)
def test_a_macro_without_a_meaning_is_named(text):
    with pytest.raises(UnknownMacro, match=r"There is no"):
        expand(text, meanings())


@given(st.text())
def test_what_is_put_in_is_never_expanded_again(words):
    assert (
        expand("{{.input}}", meanings(outputs={"input": words + "{{var:model}}"}))
        == words + "{{var:model}}"
    )


@pytest.mark.parametrize(
    ("layout", "text"),
    [
        ("2006-01-02", "2026-11-20"),
        ("Mon, 02 Jan 2006 15:04:05 MST", "Fri, 20 Nov 2026 09:05:07 CET"),
        ("Monday, January 2, 2006", "Friday, November 20, 2026"),
        ("3:04PM", "9:05AM"),
        ("2006-01-02T15:04:05Z07:00", "2026-11-20T09:05:07+01:00"),
        ("15:04:05.000", "09:05:07.123"),
        ("_2 Jan 06", "20 Nov 26"),
        ("1/2/06 3:4:5 pm", "11/20/26 9:5:7 am"),
        ("-0700", "+0100"),
    ],
)
def test_dates_are_written_by_a_go_layout(layout, text):
    assert go_format(NOW, layout) == text


def test_noon_midnight_and_utc():
    assert go_format(datetime(2026, 1, 1, 0, 30, tzinfo=UTC), "3PM Z07:00") == "12AM Z"
    assert go_format(datetime(2026, 1, 1, 12, 30, tzinfo=UTC), "3PM") == "12PM"


def test_an_unclosed_macro_is_passed_over_at_once():
    text = "{{" + " " * 100_000 + "{{ var:a " + " " * 100_000
    assert macros_in(text + "{{  now:2006 01  }}") == ["now:2006 01"]
