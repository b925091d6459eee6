"""Several recordings of one folder as one list: every path once, and nobody's work is another's."""

from itertools import pairwise

import pytest

from tests.inner import ChangesChange as Change
from tests.inner import Store, Version, composed

pytestmark = pytest.mark.usefixtures("own_home")

OWN, OUTSIDE, UNSURE = "own", "outside", "unsure"


@pytest.fixture
def store(tmp_path):
    with Store.of(tmp_path) as store, store.locked(tmp_path):
        yield store


@pytest.fixture
def text(store):
    def text(content):
        return content and Version(0o100644, store.add_blob(content.encode()).hex(), len(content))

    return text


@pytest.fixture
def change(text):
    def change(path, old, new, origin=OWN, was=""):
        kind = "renamed" if was else "added" if not old else "modified" if new else "deleted"
        lines = {"added": 7, "removed": 7}  # as they were counted once
        return Change(path, kind, text(old), text(new), origin, was, **lines)

    return change


def told(changes):
    return {(each.path, each.origin): (each.kind, each.was) for each in changes}


def test_what_was_changed_once_is_told_as_it_was_recorded(store, change):
    changes = [change("a", "1", "2"), change("c", "1", "2", was="b"), change("d", "1", None)]
    assert composed(store, [changes, [change("e", None, "1", OUTSIDE)]]) == [
        *changes,
        change("e", None, "1", OUTSIDE),
    ]


def test_a_file_that_was_renamed_and_edited_is_one_change(store, change):
    lists = [change("b", "1\n", "1\n", was="a")], [change("b", "1\n", "2\n3\n")]
    [one] = composed(store, lists)
    assert (one.path, one.was, one.kind, one.added, one.removed) == ("b", "a", "renamed", 2, 1)
    assert composed(store, [*lists, [change("a", "2\n3\n", "1\n", was="b")]]) == []


def test_a_new_file_in_the_place_of_one_that_was_renamed_is_told_once(store, change):
    lists = [change("b", "1\n", "1\n", was="a")], [change("a", None, "new\n")]
    found = composed(store, lists)
    assert told(found) == {("a", OWN): ("modified", ""), ("b", OWN): ("added", "")}
    assert [(each.added, each.removed) for each in found] == [(1, 1), (1, 0)]


def test_a_file_that_was_deleted_is_not_forgotten_for_one_that_took_its_name(store, change, text):
    lists = [change("a", "1\n", None)], [change("a", "2\n", "2\n", was="c")]
    found = composed(store, lists)
    assert told(found) == {("a", OWN): ("modified", ""), ("c", OWN): ("deleted", "")}
    assert found[0].old == text("1\n")


def test_of_one_that_was_renamed_twice_from_the_same_name_only_the_first_is(store, change):
    lists = [
        [change("b", "1", "1", was="a")],
        [change("a", None, "2")],
        [change("c", "2", "2", was="a")],
    ]
    found = composed(store, lists)
    assert told(found) == {("b", OWN): ("renamed", "a"), ("c", OWN): ("added", "")}


def test_what_somebody_wrote_between_two_of_ours_makes_the_whole_one_of_both(store, change):
    between = [change("a", "1\n", "2\n")], [change("a", "2 and hers\n", "3 and hers\n")]
    assert told(composed(store, between)) == {("a", "both"): ("modified", "")}
    removed = [change("a", "1\n", "2\n")], [change("a", None, "3\n")]
    assert told(composed(store, removed)) == {("a", "both"): ("modified", "")}


def test_what_went_back_to_one_of_ours_was_an_undo(store, change):
    lists = [
        [change("a", "1\n", "2\n")],
        [change("a", "1\n", "3\n")],
        [change("a", "3\n", "4\n")],
        [change("a", "3\n", "5\n")],
    ]
    assert told(composed(store, lists)) == {("a", OWN): ("modified", "")}


@pytest.mark.parametrize("origins", [(OWN, UNSURE), (UNSURE, OWN), (OWN, UNSURE, OWN)])
def test_what_is_ours_in_one_and_unsure_in_another_is_unsure_and_told_once(store, change, origins):
    steps = zip(pairwise("1234"), origins, strict=False)
    lists = [[change("a", f"{old}\n", f"{new}\n", origin)] for (old, new), origin in steps]
    assert told(composed(store, lists)) == {("a", UNSURE): ("modified", "")}


def test_what_others_changed_stays_apart(store, change):
    lists = [change("a", "1\n", "2\n")], [change("a", "2\n", "3\n", OUTSIDE)]
    assert told(composed(store, lists)) == {
        ("a", OWN): ("modified", ""),
        ("a", OUTSIDE): ("modified", ""),
    }


def test_of_what_was_not_recorded_at_last_only_that_is_told(store, change):
    large = Change("b", "not_recorded", why="too_large")
    lists = [change("b", "1\n", "1\n", was="a")], [large]
    assert composed(store, lists)[1:] == [large]
    assert told(composed(store, [*lists, [change("b", "3\n", "4\n")]])) == {
        ("a", OWN): ("deleted", ""),
        ("b", OWN): ("modified", ""),
    }
