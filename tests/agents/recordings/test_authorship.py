"""Whose a change is, by what looks found, and by what the kernel noted where nobody looked."""

import pytest

from tests.inner import Evidence, Look, Seen, Snapshot, Writes, changed_between

SECOND = 1_000_000_000
SHELL, WRITE = (1, 2), (4, 5)  # of ours, in seconds
BEFORE = {b"": 1, b"d": 2, b"e": 3}  # folders by inode


def ns(moment):
    return int(moment * SECOND)


def writes(anywhere=(), **files):
    found = {path.encode(): [(ns(a), ns(b)) for a, b in each] for path, each in files.items()}
    return Writes([(ns(a), ns(b)) for a, b in anywhere], found)


def folder(files=(), **changed):
    """Those of now by when they were changed, with inodes as before; files with inode and ctime,
    written then."""
    now = Snapshot(at=ns(9))
    for path, inode in BEFORE.items():
        now.folders[path] = (inode, ns(changed.get(path.decode() or "root", -9)))
    for path, (inode, at) in dict(files).items():
        now.index[path.encode()] = ((33188, 1, ns(at), ns(at), inode), b"object")
    return now


def seen(inode=0, at=0.0, was="", moment=None):
    there = (inode, ns(at)) if inode else None
    return Seen(there, ns(at if moment is None else moment), was.encode())


def look(since, until, call=None, **files):
    found = {path.encode(): each for path, each in files.items()}
    return Look(ns(since), ns(until), found, call and (ns(call[0]), ns(call[1])))


class TestWhereNobodyLooked:
    @pytest.mark.parametrize(
        ("changed", "known", "whose"),
        [
            (1.5, {}, "own"),
            (1.5, {"others": writes([(1, 2)])}, "unsure"),
            (1.5, {"others": writes([(2.5, 3)])}, "own"),
            (3.5, {}, "outside"),
            (4.5, {"unseen": writes(a=[WRITE])}, "own"),
            (4.5, {"unseen": writes(another=[WRITE])}, "outside"),
            (4.5, {"unseen": writes(a=[WRITE]), "others": writes(a=[WRITE])}, "unsure"),
        ],
    )
    def test_a_file_is_of_whoever_wrote_when_it_was_changed(self, changed, known, whose):
        known = {"own": writes([SHELL], a=[WRITE]), "unseen": writes([SHELL]), **known}
        assert Evidence(0, **known).origin(b"a", folder({"a": (7, changed)})) == whose

    @pytest.mark.parametrize(
        ("changed", "known", "whose"),
        [
            (0.5, {}, "outside"),  # before a command ran
            (1.5, {}, "own"),
            (1.5, {"others": writes([SHELL])}, "unsure"),
            (4.5, {}, "own"),  # when a file was written beside it
            (8.5, {}, "unsure"),  # when nobody that is known wrote
            (8.5, {"unseen": writes()}, "outside"),
        ],
    )
    def test_a_file_that_is_gone_went_when_its_folder_changed_last_or_before(
        self, changed, known, whose
    ):
        own = writes([SHELL], beside=[WRITE])
        known = {"own": own, "unseen": writes([SHELL]), **known}
        assert Evidence(0, **known).origin(b"d/gone", folder(d=changed)) == whose

    def test_a_time_that_a_moved_folder_brings_along_proves_nothing(self):
        known = Evidence(0, writes([SHELL]), writes([SHELL]))
        for moved, whose in ((1.5, "own"), (0.5, "outside"), (3.5, "unsure")):
            assert known.origin(b"d/a", folder({"d/a": (7, -5)}, d=moved)) == whose


class TestWhatLooksFound:
    @pytest.mark.parametrize(
        ("looks", "whose"),
        [
            ([look(0, 2, SHELL, a=seen(7, 1.5))], "own"),
            ([look(0, 3, None, a=seen(7, 2.5))], "outside"),
            ([look(0, 1, None, a=seen(6, 0.5)), look(1, 2, SHELL, a=seen(7, 1.5))], "both"),
            ([look(0, 2, SHELL, a=seen(7, 1.5)), look(2, 4, None, a=seen(7, 1.5))], "own"),
            ([look(0, 2, SHELL, a=seen(7, 2.5))], "outside"),  # since the call, before the look
            ([look(0, 2, SHELL, a=seen(7, 0.5))], "outside"),  # since the look, before the call
            ([look(0, 2, SHELL, a=seen(6, 1.5))], "both"),  # and written over since
            ([look(0, 2, SHELL, b=seen(7, 1.2)), look(2, 4, None, a=seen(7, 3, "b"))], "both"),
            ([look(0, 1, None, b=seen(7, 0.5)), look(1, 2, SHELL, a=seen(7, 1.5, "b"))], "both"),
        ],
    )
    def test_it_is_of_those_who_changed_it_or_what_came_there(self, looks, whose):
        ctime = {each.there[1] for each in looks[-1].files.values()}.pop() / SECOND
        now = folder({"a": (7, ctime)})
        assert Evidence(0, writes([SHELL]), looks=looks).origin(b"a", now) == whose

    @pytest.mark.parametrize(
        ("inode", "written", "whose"), [(7, 1, "both"), (7, 8, "outside"), (8, 1, "outside")]
    )
    def test_what_others_moved_since_is_of_both_if_it_is_the_same_file(self, inode, written, whose):
        known = Evidence(0, writes([SHELL]), looks=[look(0, 2, SHELL, a=seen(7, 1.5))])
        now = folder({"b": (inode, 8)})
        now.index[b"b"] = ((33188, 1, ns(written), ns(8), inode), b"object")
        assert known.origin(b"b", now) == whose
        assert known.origin(b"a", now) == "both"

    def test_it_is_the_same_file_also_where_it_has_another_name(self):
        found = {name: seen(7, 1.5) for name in ("a", "c")}
        known = Evidence(0, writes([SHELL]), looks=[look(0, 2, SHELL, **found)])
        now = folder({"b": (7, 8), "c": (7, 8)})
        now.index[b"b"] = ((33188, 1, ns(1), ns(8), 7), b"object")
        assert known.origin(b"b", now) == "both"

    def test_what_came_and_went_was_never_there(self):
        looks = [
            look(0, 1, None, a=seen(6, 0.5)),
            look(1, 2, SHELL, a=seen(moment=1.5)),
            look(2, 5, (3, 4), a=seen(7, 3.5)),
        ]
        now = folder({"a": (7, 3.5)})
        own = writes([SHELL, (3, 4)])
        assert Evidence(0, own, looks=looks).origin(b"a", now) == "both"
        assert Evidence(0, own, looks=looks, had=lambda path: False).origin(b"a", now) == "own"

    @pytest.mark.parametrize(
        ("left", "whose"), [((7, ns(1.5)), "outside"), ((6, ns(1.2)), "both"), (None, "both")]
    )
    def test_what_a_person_left_while_a_command_ran_is_theirs(self, left, whose):
        edit = Look(ns(1.2), ns(1.2), {b"a": Seen(left, ns(1.6))}, by_person=True)
        looks = [edit, look(0, 2, SHELL, a=seen(7, 1.5), b=seen(8, 1.5))]
        known = Evidence(0, writes([SHELL]), looks=looks)
        now = folder({"a": (7, 1.5), "b": (8, 1.5)})
        assert known.origin(b"a", now) == whose
        assert known.origin(b"b", now) == "own"

    @pytest.mark.parametrize(
        ("others", "whose"),
        [
            (writes(a=[SHELL]), ["outside", "own"]),  # by its name
            (writes([(1.4, 1.6)]), ["unsure", "unsure"]),
            (writes([(1.8, 3)]), ["own", "unsure"]),  # of what is gone no time is known
            (writes([(3, 4)]), ["own", "own"]),
        ],
    )
    def test_what_others_may_have_done_in_the_same_moment_is_unsure(self, others, whose):
        looks = [look(0, 2, SHELL, a=seen(7, 1.5), gone=seen(moment=1.5))]
        known = Evidence(0, writes([SHELL]), others=others, looks=looks)
        now = folder({"a": (7, 1.5)}, root=1.5)
        assert [known.origin(path, now) for path in (b"a", b"gone")] == whose

    def test_a_command_that_nobody_looked_after_is_found_by_times_in_a_later_look(self):
        looks = [look(0, 7, (6, 7), a=seen(7, 1.5), b=seen(8, 3.5), c=seen(9, 6.5))]
        known = Evidence(0, writes([SHELL, (6, 7)]), writes([SHELL]), looks=looks)
        now = folder({"a": (7, 1.5), "b": (8, 3.5), "c": (9, 6.5)})
        assert [known.origin(path, now) for path in (b"a", b"b", b"c")] == ["own", "outside", "own"]


def test_the_second_name_of_a_file_stays_where_it_is_when_the_first_one_goes():
    now = folder({"b": (7, 1.5)})
    found = changed_between({b"a": (7, 0), b"b": (7, 0)}, now, 0, {})
    assert {path: each.was for path, each in found.items()} == {b"a": b"", b"b": b""}
    now.index[b"b"] = ((33188, 1, 0, ns(1.5), 7), b"object")
    assert changed_between({b"a": (7, 0)}, now, 0, {})[b"b"].was == b"a"


def test_a_file_of_an_old_time_was_there_unless_its_folder_is_new():
    known = Evidence(0, folders=BEFORE)
    now = folder()
    assert known.was_there(b"d/a", ns(-5), now)
    assert not known.was_there(b"d/a", ns(5), now)
    now.folders[b"d"] = (8, ns(1.5))
    assert not known.was_there(b"d/a", ns(-5), now)
