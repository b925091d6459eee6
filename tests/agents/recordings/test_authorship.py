"""Whose a change is, by what is known of who wrote, and by what the kernel noted."""

from dataclasses import replace

import pytest

from tests.inner import Edits, Evidence, Origin, Snapshot, Writes

SECOND = 1_000_000_000
SHELL, WRITE = (1, 2), (4, 5)  # of ours, in seconds
BEFORE = {b"": 1, b"d": 2, b"e": 3}  # folders by inode


def evidence(anywhere=(SHELL,), files=None, others=(), others_files=None, edits=()):
    own = Writes(seconds(anywhere), seconds({"beside": [WRITE]} if files is None else files))
    theirs = Writes(seconds(others), seconds(others_files or {}))
    return Evidence(0, own, theirs, edits, BEFORE)


def seconds(found):
    if isinstance(found, dict):
        return {path.encode(): seconds(each) for path, each in found.items()}
    return [(int(begin * SECOND), int(end * SECOND)) for begin, end in found]


def folders(file=None, **changed):
    """Those of now, each by its inode and when it was changed; a file's path, ctime and mtime."""
    rows = {"": (1, -9), "d": (2, -9), "e": (3, -9)} | changed
    found = {path.encode(): (inode, int(at * SECOND)) for path, (inode, at) in rows.items()}
    snapshot = Snapshot(at=9 * SECOND)
    snapshot.folders = {path: each for path, each in found.items() if each[0]}
    if file:
        path, ctime, mtime = file
        stats = (33188, 1, int(mtime * SECOND), int(ctime * SECOND), 7)
        snapshot.index[path.encode()] = (stats, b"object")
    return snapshot


@pytest.mark.parametrize(
    ("folder_changed", "known", "whose"),
    [
        (0.5, {}, "outside"),  # before a command ran
        (1.5, {}, "own"),
        (1.5, {"others": [(1, 2)]}, "unsure"),
        (4.5, {}, "own"),  # when a file was written beside it
        (4.5, {"anywhere": []}, "outside"),
        (4.5, {"others": [(3, 4)]}, "unsure"),
        (4.5, {"others": [(5, 6)]}, "own"),
        (8.5, {}, "unsure"),  # when nobody that is known wrote
        (8.5, {"others": [(8, 9)]}, "unsure"),
        (8.5, {"others_files": {"another": [(8, 9)]}}, "own"),
        (8.5, {"files": {"gone": [(4, 5)]}, "anywhere": []}, "both"),
    ],
)
def test_a_file_that_is_gone_went_when_its_folder_changed_last_or_before(
    folder_changed, known, whose
):
    now = folders(**{"": (1, folder_changed)})
    assert evidence(**known).origin(b"gone", None, now) == whose


def edits(began, files, **ctimes):
    found = {
        path.encode(): (BEFORE[path.encode()], int(at * SECOND)) for path, at in ctimes.items()
    }
    return Edits(began * SECOND, (began + 1) * SECOND, files, found)


def test_what_a_person_did_in_a_folder_hides_nothing_of_what_the_turn_did_there_before():
    by_a_person = edits(8, {b"another": None}, **{"": 1.5})
    now = folders(**{"": (1, 8.5)})
    assert evidence(edits=[by_a_person]).origin(b"gone", None, now) == "own"
    assert evidence(edits=[by_a_person]).origin(b"another", None, now) == "outside"


@pytest.mark.parametrize(
    ("known", "whose"),
    [
        ([], "unsure"),
        ([(8, -9)], "own"),  # the known one is all that happened in the folder
        ([(8, 1.5)], "own"),  # the turn wrote there before it
        ([(8, 7)], "unsure"),  # somebody else did
        ([(6, -9), (8, 6.5)], "own"),
    ],
)
def test_what_others_may_have_taken_before_the_turn_wrote_there_is_unsure(known, whose):
    now = folders(d=(2, 9.5))
    by_others = [edits(began, {b"another": None}, d=found) for began, found in known]
    theirs = evidence(anywhere=[SHELL, (9, 10)], edits=by_others)
    theirs.taken = [(b"d/gone", int(8.5 * SECOND)), (b"d/deep", int(8.5 * SECOND))]
    assert theirs.origin(b"d/gone", None, now) == whose
    assert theirs.origin(b"d/deep/gone", None, now) == whose
    assert theirs.origin(b"d/another_one", None, now) == "own"
    assert theirs.origin(b"e/gone", None, folders(e=(3, 9.5))) == "own"


def test_what_a_person_wrote_is_not_the_turns_by_a_mode_that_it_set():
    for mtime, whose in ((8.5, "unsure"), (8, "own"), (1.5, "own"), (-9, "own")):
        now = folders(("a", 9.5, mtime))
        theirs = evidence(anywhere=[SHELL, (9, 10)])
        assert theirs.origin(b"a", now.identity(b"a"), now) == whose


def test_a_file_that_a_person_saved_while_a_command_ran_is_theirs():
    saved = (7, int(1.5 * SECOND))
    known = evidence(edits=[edits(1, {b"a": saved})])
    assert known.origin(b"a", saved, folders()) == "outside"
    assert known.origin(b"a", (8, saved[1]), folders()) == "both"
    assert known.origin(b"b", (9, saved[1]), folders()) == "own"
    assert known.origin(b"b", saved, folders()) == "unsure"  # the turn may have moved it


@pytest.mark.parametrize(
    ("changed", "known", "whose"),
    [
        (1.5, {}, "own"),
        (1.5, {"others": [(1, 2)]}, "unsure"),
        (1.5, {"others_files": {"a": [(1, 2)]}}, "outside"),  # by its name
        (3.5, {}, "outside"),
        (3.5, {"others_files": {"a": [(3, 4)]}}, "outside"),
        (4.5, {}, "outside"),  # another file was written then
        (4.5, {"files": {"a": [WRITE]}}, "own"),
        (4.5, {"files": {"a": [WRITE]}, "others_files": {"a": [WRITE]}}, "unsure"),
        (8.5, {"files": {"a": [WRITE]}}, "both"),  # written over since
    ],
)
def test_a_file_is_of_whoever_wrote_when_it_was_changed(changed, known, whose):
    now = folders(("a", changed, changed))
    assert evidence(**known).origin(b"a", now.identity(b"a"), now) == whose


@pytest.mark.parametrize(("mtime", "whose"), [(1.5, "unsure"), (3.5, "outside"), (-9, "outside")])
def test_a_mode_that_others_set_does_not_make_the_file_theirs(mtime, whose):
    now = folders(("a", 3.5, mtime))
    assert evidence().origin(b"a", now.identity(b"a"), now) == whose


@pytest.mark.parametrize(
    ("left", "whose"),
    [(b"object", "outside"), (b"another", "both"), (None, "both"), (Origin.UNSURE, "unsure")],
)
def test_what_another_turn_is_known_to_have_left_is_its_own_or_of_both(left, whose):
    now = folders(("a", 1.5, 1.5))
    known = evidence(edits=[edits(1, {b"a": left})])
    assert known.origin(b"a", now.identity(b"a"), now) == whose


@pytest.mark.parametrize(("is_whole", "whose"), [(True, "unsure"), (False, "outside")])
def test_a_time_that_another_turn_set_does_not_make_the_file_its_own(is_whole, whose):
    now = folders(("a", 3.5, -9))
    known = evidence(edits=[replace(edits(3, {b"another": b"object"}), is_whole=is_whole)])
    assert known.origin(b"a", now.identity(b"a"), now) == whose


def test_a_file_that_was_written_by_its_name_stays_the_turns_in_a_folder_that_is_moved():
    now = folders(("new/a", 4.5, 4.5), **{"": (1, 5), "new": (9, 5)})
    known = evidence(files={"old/a": [WRITE]}, anywhere=[(5, 6)])
    assert known.origin(b"new/a", now.identity(b"new/a"), now) == "own"


@pytest.mark.parametrize(
    ("changed", "now", "whose"),
    [
        (-5, {"": (1, 1.5), "d": (3, 1.5), "e": (0, 0)}, "own"),  # e is d now
        (-5, {"": (1, 3.5), "d": (3, 3.5), "e": (0, 0)}, "unsure"),
        (-5, {"": (1, 0.5), "d": (3, 0.5), "e": (0, 0)}, "outside"),
        (0.5, {"": (1, 1.5), "d": (3, 1.5), "e": (0, 0)}, "own"),  # saved before e was moved
        (3.5, {"": (1, 1.5), "d": (3, 1.5), "e": (0, 0)}, "outside"),  # and after
        (3.5, {"": (1, 3.5), "d": (9, 3.5)}, "outside"),  # a new folder
        (0.5, {"": (1, 1.5), "d": (9, 1.5)}, "unsure"),  # which may have been moved
        (-5, {"": (1, 1.5), "d": (9, 1.5)}, "own"),  # or came from elsewhere
    ],
)
def test_times_that_a_moved_folder_brings_along_prove_nothing(changed, now, whose):
    now = folders(("d/a", changed, changed), **now)
    assert evidence(files={}).origin(b"d/a", now.identity(b"d/a"), now) == whose


@pytest.mark.parametrize("path", ["docs/e/d/a", "e/d/gone"])
def test_a_folder_says_nothing_of_when_the_one_that_it_is_in_was_moved(path):
    before = {b"": 1, b"e": 3, b"e/d": 2, b"docs": 4}
    moved = {"": (1, 1.5), "d": (0, 0), "e": (0, 0), "docs": (4, 1.5), "docs/e": (3, 1.5)}
    now = folders(("docs/e/d/a", -5, -5), **moved, **{"docs/e/d": (2, -9)})
    known = replace(evidence(files={}), folders=before)
    there = now.identity(path.encode())
    assert known.origin(path.encode(), there, now) == "own"


@pytest.mark.parametrize(("moved", "whose"), [(1.5, "own"), (0.5, "outside"), (3.5, "unsure")])
def test_a_file_that_is_gone_went_at_the_latest_with_its_folder(moved, whose):
    now = folders(**{"": (1, 8.5), "d": (0, 0), "e": (3, moved), "e/d": (2, moved)})
    assert evidence(files={}).origin(b"d/gone", None, now) == whose


def test_of_a_recording_that_knows_no_folders_times_are_taken_as_they_are():
    known = replace(evidence(), folders={})
    now = folders(**{"": (1, 1.5)})
    assert known.origin(b"d/a", (7, int(1.5 * SECOND)), now) == "own"
    assert known.origin(b"a", None, now) == "own"
    now = folders(("d/a", 3.5, 3.5))
    assert known.origin(b"d/a", now.identity(b"d/a"), now) == "outside"


@pytest.mark.parametrize(
    ("touched", "whose"), [(None, "unsure"), ([], "outside"), (["e"], "outside"), (["d"], "unsure")]
)
def test_what_is_gone_from_a_folder_that_no_call_changed_others_took(touched, whose):
    known = evidence()
    known.touched = None if touched is None else {each.encode() for each in touched}
    assert known.origin(b"d/gone", None, folders(d=(2, 8.5))) == whose


@pytest.mark.parametrize(
    ("changed", "moved", "whose"),
    [
        (1.5, 8.5, "unsure"),  # by others, since a command of ours wrote it
        (1.5, 1.7, "own"),  # by the command
        (8.5, 8.5, "outside"),
    ],
)
def test_what_the_turn_wrote_is_of_both_where_others_moved_its_folder_since(changed, moved, whose):
    now = folders(("new/a", changed, changed), new=(7, moved), **{"": (1, moved)})
    assert evidence().origin(b"new/a", now.identity(b"new/a"), now) == whose


def test_what_the_turn_moved_is_of_both_where_others_moved_the_folder_it_is_in_since():
    now = folders(("new/e/a", -9, -9), new=(7, 8.5), e=(0, 0), **{"": (1, 8.5), "new/e": (3, 1.5)})
    assert evidence().origin(b"new/e/a", now.identity(b"new/e/a"), now) == "unsure"
