"""What changed between two versions: the words, the places, and how soon it is known."""

from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from plans.models import SUBTASK_TEXT
from tests.growth import demand_proportion
from tests.inner import Op, diff, diff_words, longest_increasing, words

KEPT, DELETED, INSERTED = Op

# What a reader sees as one sign, however many characters it has.
SIGNS = [
    *("a", "b", " ", "\n", ".", "’", "漢", "字", "仮", "か", "한", "글", "-", "9"),
    *("e\u0301", "か\u3099", "क्षि", "กำ", "กี่", "ന്‍", "ক্ষ", "\u1112\u1161\u11ab", "ﾊﾟ"),
    *("👩‍👩‍👧‍👦", "👍🏽", "❤️‍🔥", "1️⃣", "🇩🇪", "🏴\U000e0067\U000e0062\U000e007f", "\u06001"),
]


def subtask(key, name, **texts):
    return {"key": key, **dict.fromkeys(SUBTASK_TEXT, ""), "name": name, **texts}


def text(*names, title="Tidy up", content="", expected_outcome=""):
    """A plan's text; "s4 Read" names another key than the place would give."""
    subtasks = []
    for place, name in enumerate(names, 1):
        key, _, rest = name.partition(" ") if name[:1] == "s" and name[1:2].isdigit() else ("",) * 3
        subtasks.append(subtask(key or f"s{place}", rest or name))
    return {
        "title": title,
        "content": content,
        "expected_outcome": expected_outcome,
        "subtasks": subtasks,
    }


def seen(found):
    return [(str(row.change), row.name, row.was, row.place) for row in found.rows]


def said(old, new):
    return [(str(run.op)[:3], run.text) for run in diff_words(old, new)]


# Words


def test_only_the_words_that_changed_are_marked():
    assert said("Build is green", "Build passes, example log attached") == [
        ("kep", "Build "),
        ("del", "is green"),
        ("ins", "passes, example log attached"),
    ]


def test_a_space_that_stays_between_changed_words_is_no_word_of_its_own():
    assert said("is red now", "was blue now") == [
        ("del", "is red"),
        ("ins", "was blue"),
        ("kep", " now"),
    ]


def test_paragraphs_that_changed_stay_apart():
    assert said("one two\nthree four", "one six\nthree seven") == [
        ("kep", "one "),
        ("del", "two"),
        ("ins", "six"),
        ("kep", "\nthree "),
        ("del", "four"),
        ("ins", "seven"),
    ]


@pytest.mark.parametrize(
    ("old", "new", "runs"),
    [
        (
            "检查所有链接。",
            "检查所有失效的链接。",
            [("kep", "检查所有"), ("ins", "失效的"), ("kep", "链接。")],
        ),
        (
            "文書を書く",
            "文書を読む",
            [("kep", "文書を"), ("del", "書く"), ("ins", "読む")],
        ),
        (
            "링크를 고친다",
            "링크를 모두 고친다",
            [("kep", "링크를 "), ("ins", "모두 "), ("kep", "고친다")],
        ),
        ("it's done", "it’s done", [("del", "it's"), ("ins", "it’s"), ("kep", " done")]),
        (
            "go 👩‍👧 on",
            "go 👩‍👦 on",
            [("kep", "go "), ("del", "👩‍👧"), ("ins", "👩‍👦"), ("kep", " on")],
        ),
        ("🇩🇪🇫🇷", "🇩🇪🇮🇹", [("del", "🇩🇪🇫🇷"), ("ins", "🇩🇪🇮🇹")]),
    ],
)
def test_any_script_is_compared_by_its_own_words(old, new, runs):
    assert said(old, new) == runs


@given(st.lists(st.sampled_from(SIGNS)), st.lists(st.sampled_from(SIGNS)))
def test_no_run_begins_or_ends_within_a_sign(old, new):
    for run_of, signs in ((DELETED, old), (INSERTED, new)):
        ends, at = {0}, 0
        for sign in signs:
            at += len(sign)
            ends.add(at)
        at = 0
        for run in diff_words("".join(old), "".join(new)):
            if run.op in (KEPT, run_of):
                at += len(run.text)
                assert at in ends


@given(st.text(max_size=80), st.text(max_size=80))
def test_the_runs_are_both_texts(old, new):
    runs = diff_words(old, new)
    assert "".join(run.text for run in runs if run.op != INSERTED) == old
    assert "".join(run.text for run in runs if run.op != DELETED) == new
    assert all(run.text for run in runs)
    assert all(one.op != other.op for one, other in pairwise(runs))


@given(st.text())
def test_words_are_the_whole_text(whole):
    assert "".join(words(whole)) == whole


# Subtasks


def test_an_added_subtask_moves_nothing():
    found = diff(text("s1 Read", "s2 Write"), text("s1 Read", "s3 Ask", "s2 Write"))
    assert seen(found) == [
        ("same", "Read", 1, 1),
        ("added", "Ask", None, 2),
        ("same", "Write", 2, 3),
    ]
    assert found.sentence == "1 change: 1 added"


def test_only_what_really_moved_has_moved():
    old = text("s1 a", "s2 b", "s3 c", "s4 d", "s5 e")
    found = diff(old, text("s5 e", "s1 a", "s2 b", "s3 c", "s4 d"))
    assert seen(found)[0] == ("moved", "e", 5, 1)
    assert {row.change for row in found.rows[1:]} == {"same"}
    assert found.sentence == "1 change: 1 moved"


def test_a_removed_subtask_stands_where_it_stood():
    found = diff(text("s1 a", "s2 b", "s3 c"), text("s1 a", "s3 c"))
    assert seen(found) == [("same", "a", 1, 1), ("removed", "b", 2, None), ("same", "c", 3, 2)]


def test_one_that_was_moved_and_reworded_counts_once():
    found = diff(text("s1 a", "s2 b", "s3 c"), text("s3 see", "s1 a", "s2 b"))
    first = found.rows[0]
    assert (first.change, first.moved, first.was, first.place) == ("edited", True, 3, 1)
    assert found.sentence == "1 change: 1 reworded"


def test_the_sentence_names_all_that_changed():
    old = text("s1 Read", "s2 Write", "s3 Check", title="Old")
    new = text("s3 Check", "s1 Read all", "s4 Ask", title="New", content="words")
    assert diff(old, new).sentence == (
        "6 changes: the title, the description, 1 added, 1 reworded, 1 moved, 1 removed"
    )


def test_a_subtask_that_came_back_with_its_words_is_the_same_under_a_new_key():
    found = diff(text("s1 Read", "s2 Write"), text("s1 Read", "s7 Write"))
    assert found.sentence == "No changes"
    assert (found.rows[1].key, found.rows[1].old_key) == ("s7", "s2")


@given(st.permutations(range(12)).map(lambda order: order[:9]))
def test_what_did_not_move_is_as_much_as_can_be(order):
    kept = [order[place] for place in longest_increasing(order)]
    assert kept == sorted(kept)
    assert len(kept) == max(lengths(order))


def lengths(order):
    """The length of the longest increasing run that ends at each place, by trying all."""
    found = []
    for place, number in enumerate(order):
        before = [found[i] for i in range(place) if order[i] < number]
        found.append(1 + max(before, default=0))
    return found


def texts_of_plans():
    word = st.sampled_from(["", "read", "write it", "read all of it", "検査する", "👍🏽 ok"])
    keys = st.lists(st.sampled_from([f"s{n}" for n in range(1, 9)]), unique=True)
    texts = dict.fromkeys(SUBTASK_TEXT, word)
    subtasks = keys.flatmap(
        lambda keys: st.tuples(*(st.builds(subtask, st.just(key), **texts) for key in keys))
    )
    return st.fixed_dictionaries(
        {"title": word, "content": word, "expected_outcome": word, "subtasks": subtasks.map(list)}
    )


def applied(old, found):
    """The new text, from the old one and what the diff shows of the change alone."""
    new = {field: old[field] for field in ("title", "content", "expected_outcome")}
    new |= {each.field: inserted(each, old[each.field]) for each in found.fields}
    by_key = {each["key"]: each for each in old["subtasks"]}
    rows = sorted((row for row in found.rows if row.place), key=lambda row: row.place)
    assert [row.place for row in rows] == list(range(1, len(rows) + 1))
    new["subtasks"] = [one_of(row, by_key) for row in rows]
    gone = {row.key for row in found.rows if row.change == "removed"}
    assert gone.isdisjoint(row.old_key for row in rows)
    assert gone | {row.old_key for row in rows if row.old_key} == set(by_key)
    return new


def one_of(row, by_key):
    if row.change == "added":
        return dict(row.text)
    before = by_key[row.old_key]
    assert (row.fields == ()) == (row.change in ("same", "moved"))
    reworded = {each.field: inserted(each, before[each.field]) for each in row.fields}
    return before | {"key": row.key} | reworded


def inserted(change, old):
    assert "".join(run.text for run in change.runs if run.op != INSERTED) == old
    return "".join(run.text for run in change.runs if run.op != DELETED)


@settings(deadline=None)
@given(texts_of_plans(), texts_of_plans())
def test_the_old_text_and_the_diff_give_the_new_one(old, new):
    assert applied(old, diff(old, new)) == new


@settings(deadline=None)
@given(texts_of_plans())
def test_nothing_changed_between_a_text_and_itself(same):
    found = diff(same, same)
    assert found.changes == 0
    assert {row.change for row in found.rows} <= {"same"}
    assert found.sentence == "No changes"


# Size


def test_the_largest_plan_is_compared_in_a_few_seconds():
    old = text(*(f"Subtask number {n}" for n in range(500)))
    new = text(*(f"Subtask number {n} again" for n in reversed(range(500))))
    long = [("word " * 4000)[:20_000], ("word other " * 4000)[:20_000]]
    for place in range(500):
        old["subtasks"][place]["description"] = long[0]
        new["subtasks"][place]["description"] = long[1]
    found = diff(old, new)
    runs = [each.runs for row in found.rows for each in row.fields]
    assert sum(len(each) > 2 for each in runs) >= 5, "as much as is allowed is compared by words"


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("a " * 10_000, "b a " * 5_000),
        ("あい" * 10_000, "いあう" * 6_666),
        ("".join(chr(0x4E00 + n % 3000) for n in range(20_000)), "一" * 20_000),
        ("ab. " * 5_000, "ba. ab. " * 2_500),
        ("👩‍👧" * 6_000, "👩‍👦" * 6_000),
    ],
)
def test_texts_made_to_be_slow_are_not(old, new):
    short, long = ((old[: len(old) // 10], new[: len(new) // 10]), (old, new))
    demand_proportion(lambda texts: list(diff_words(*texts)), short, long)
    runs = diff_words(old, new)
    assert "".join(run.text for run in runs if run.op != INSERTED) == old


def test_a_change_at_both_ends_of_a_long_text_without_spaces_leaves_its_middle():
    middle = "".join(f"第{n}章を読んで要点を書き出す。" for n in range(1_000))
    runs = diff_words(f"最初。{middle}最後。", f"始め。{middle}終わり。")
    assert max(runs, key=lambda run: len(run.text)).op == KEPT
    assert len(middle) <= max(len(run.text) for run in runs)
