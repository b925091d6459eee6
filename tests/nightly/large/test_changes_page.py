"""The pages of changes to hundreds of files."""

import re

import pytest

from tests.console.test_changes_page import worked
from tests.inner import changed_files
from tests.markup import flat
from tests.world import files_of, plan_of, signed_in

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("own_home")]


def test_of_many_files_a_page_has_as_many_as_it_may_and_leads_to_the_others(monkeypatch):
    monkeypatch.setattr(changed_files, "MOST_LISTED", 10)
    first = leads_from_page_to_page(94, 10)
    assert "By the agent, 94 files" in first and "Files 1 to 10 of 94" in first


def leads_from_page_to_page(many, at_once):
    """The first page of so many files; each file is on one of the pages that follow each other."""
    chat = worked(f"for n in $(seq {many}); do echo $n > file-$n.txt; done")
    alice = signed_in(chat.owner)
    address = f"/c/{chat.pk}/changed?plan={plan_of(chat).pk}"

    def page(link=""):
        answer = alice.get(f"/c/{chat.pk}/changed{link}" if link else f"{address}&undo")
        return flat(answer.content.decode())

    def names(html):
        return re.findall(r"<h2>(file-\d+\.txt)</h2>", html)

    first = page()
    assert "file-diff" not in first, "names alone"
    assert "Earlier files" not in first
    assert len(names(first)) == at_once
    seen, html = set(names(first)), first
    while later := re.search(r'href="([^"]+)" rel="next"', html):
        html = page(later[1].replace("&amp;", "&"))
        assert not seen & set(names(html))
        seen |= set(names(html))
    assert len(seen) == many
    last = (many - 1) // at_once * at_once + 1
    assert f"Files {last:,} to {many:,} of {many:,}" in html
    assert "undo" not in re.search(r'href="([^"]+)" rel="prev"', html)[1]
    assert names(page(f"?plan={plan_of(chat).pk}&page=999")) == names(html)
    return first


def test_the_preview_of_an_undo_draws_two_hundred_files_at_a_time_and_what_asks_first(monkeypatch):
    chat = worked("for n in $(seq 450); do echo $n > file-$n.txt; done")
    (files_of(chat) / "file-99.txt").write_text("changed since\n")
    alice = signed_in(chat.owner)
    address = f"/c/{chat.pk}/changed/preview?plan={plan_of(chat).pk}"
    drawn = []
    for more in ("and 250 more", "and 50 more", ""):
        html = flat(alice.get(address).content.decode())
        if not drawn:
            assert "and 438 more" in html, "below the first twelve"
        drawn += re.findall(r'<span class="mono">(file-\d+\.txt)</span>', html)
        assert more in html
        if more:
            address = re.search(r'hx-get="([^"]+)"', html)[1].replace("&amp;", "&")
    assert len(drawn) == len(set(drawn)) == 450
    assert drawn[0] == "file-99.txt", "it can be kept or restored"
    assert 'hx-swap="delete"' in html
