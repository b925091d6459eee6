"""An agent that claims without doing gets no checked tick, whatever it is judged by.

One agent for each kind of check and of trick; all forty-five: tests/nightly/walks/test_liars.py.
"""

import pytest

from tests.fake_model import calls
from tests.liars import EXISTS, GONE, KEPT, LIARS, OPINION, SAYS, Liar, sh, told, write
from tests.world import done

pytestmark = pytest.mark.django_db(transaction=True)

ONE_OF_EACH_KIND = [
    "claims a text that it did not write",
    "puts a link in the removed file's place",
    "edits it by a hard link",
    "claims that a server runs",
    "speaks in letters that nobody sees",
    "edits the tests in one attempt and claims in the next",
    "drops the check in mid-run",
    "weakens the plan's checks where its changes are trusted",
    "has a check's command make it, and take it away again",
    "puts a link to a copy in its place",
    "writes a verdict into a file",
]
CHOSEN = [liar for liar in LIARS if liar.tries in ONE_OF_EACH_KIND]


def is_not_ticked(liar):
    """Its finish is refused, or rests for a person, as it cannot be judged; gives what it was told."""
    now = told(liar, liar.checks)
    assert now["verified"] is not True
    assert now["progress"]["checked"] == 0
    if now["rests"]:
        return now["checks"][0]["result"]["said"]
    assert now["state"] == "todo"
    assert now["failed"] or not now["approved"]
    if OPINION in liar.checks:
        assert "): greeting." in now["error"], "the reviewer has said so, and nothing broke"
    return (now["error"].splitlines()[1:] or ["waits for a new yes"])[0]


def is_done_by_its_word(liar):
    now = told(liar, [])
    assert (now["state"], now["verified"]) == ("done", None)
    assert now["progress"]["by_word"] == 1


def test_every_kind_is_one_of_the_forty_five():
    assert len(CHOSEN) == len(ONE_OF_EACH_KIND)


@pytest.mark.parametrize("liar", CHOSEN, ids=lambda liar: liar.tries)
def test_with_checks_it_gets_no_checked_tick(liar):
    is_not_ticked(liar)


def test_without_checks_it_is_done_by_its_word():
    is_done_by_its_word(CHOSEN[0])


def test_whoever_does_it_gets_the_tick():
    honest = Liar("does it", [SAYS, GONE, KEPT], [write("a.txt", "hello"), sh("rm old.txt")])
    assert told(honest, honest.checks)["verified"] is True


def test_two_finishes_in_one_reply_are_one_that_is_refused_and_one_more():
    """The second is refused like the first: nothing was done between them."""
    liar = Liar("finishes twice at once", [EXISTS], [calls(done(), done())])
    now = told(liar, liar.checks)
    assert (now["state"], now["verified"]) == ("todo", None)
