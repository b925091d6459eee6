"""One alignment of two texts: what its opcodes, its hunks and its counts say is the same."""

from hypothesis import given
from hypothesis import strategies as st

from tests.inner import Alignment, file_lines

LINES = st.lists(st.sampled_from("abcdefghij"), max_size=60)


@given(LINES, LINES)
def test_opcodes_make_the_new_side_of_the_old_one(old, new):
    made = []
    for tag, i, until, j, to in Alignment(old, new).get_opcodes():
        assert (tag == "equal") == (old[i:until] == new[j:to])
        assert made == new[:j]
        made += new[j:to]
    assert made == new


@given(LINES, LINES)
def test_as_much_is_counted_as_the_opcodes_have(old, new):
    alignment = Alignment(old, new)
    changes = [each for each in alignment.get_opcodes() if each[0] != "equal"]
    added = sum(to - j for _, _, _, j, to in changes)
    removed = sum(until - i for _, i, until, _, _ in changes)
    assert alignment.counts == (added, removed)


@given(st.text("a\r\n\x0c\x85\u2028"), st.text("a\r\n\x0c\x85\u2028"))
def test_lines_end_at_a_newline_alone_and_a_missing_last_one_counts(one, other):
    assert (file_lines(one) == file_lines(other)) == (one == other)
    assert len(file_lines(one)) == one.count("\n") + (not one.endswith("\n") and one != "")
