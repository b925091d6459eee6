"""Whose a change is, by when it was made."""

import pytest

from tests.inner import Windows

SECOND = 1_000_000_000
SHELL, WRITE = (1, 2), (4, 5)  # of ours, in seconds


def windows(**others):
    named = {"wide": [SHELL], "files": {"beside": [WRITE]}, **others}
    return Windows(0, **{name: in_nanoseconds(each) for name, each in named.items()})


def in_nanoseconds(found):
    if isinstance(found, dict):
        return {path.encode(): in_nanoseconds(each) for path, each in found.items()}
    return [(begin * SECOND, end * SECOND) for begin, end in found]


@pytest.mark.parametrize(
    ("folder_changed", "others", "whose"),
    [
        (0.5, {}, "outside"),  # before a command ran
        (1.5, {}, "own"),
        (1.5, {"others_wide": [(1, 2)]}, "unsure"),
        (4.5, {}, "own"),  # when a file was written beside it
        (4.5, {"wide": []}, "outside"),
        (4.5, {"others_wide": [(3, 4)]}, "unsure"),
        (4.5, {"others_wide": [(5, 6)]}, "own"),
        (8.5, {}, "unsure"),  # when nobody that is known wrote
        (8.5, {"others_wide": [(8, 9)]}, "unsure"),
        (8.5, {"others_files": {"another": [(8, 9)]}}, "own"),
        (8.5, {"files": {"gone": [(4, 5)]}, "wide": []}, "unsure"),
    ],
)
def test_a_file_that_is_gone_went_when_its_folder_changed_last_or_before(
    folder_changed, others, whose
):
    at = int(folder_changed * SECOND)
    assert windows(**others).origin_of_gone(b"gone", at) == whose
