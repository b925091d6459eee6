"""The main job, as a person does it: from the printed link to mended files, and a restart."""

import re
from urllib.parse import unquote

import pytest
from playwright.sync_api import expect

from agents import http
from tests.inner import GOES_AWAY, DemoModel
from tests.tab import A_RUN, GOAL, LIVE, wait_for

LINK = re.compile(r"(?<!!)\[[^\]]*\]\(([^)#\s]*)(?:#([^)\s]*))?\)")
RENAMED = "Look at the docs"


@pytest.mark.usefixtures("working")
def test_from_the_printed_link_to_mended_files_that_outlast_a_reload_and_a_restart(
    site, open_tab, settings
):
    settings.DEMO_PACE = 0
    http.use(DemoModel())
    tab = open_tab(signed_in=False)
    tab.page.goto(site.link)
    mends_the_docs(site, tab)
    before = shown(tab)
    tab.page.reload()
    wait_for(tab, lambda: shown(tab) == before)
    tab.expects("WebSocket", "Failed to load resource", "htmx:(ws:)?error", "net::ERR_")
    site.goes_away(GOES_AWAY)
    site.comes_back()
    tab.page.reload()
    tab.sees_connection(LIVE)
    wait_for(tab, lambda: shown(tab) == before)


def mends_the_docs(site, tab):
    """On the page to which the link led, up to the end of the plan."""
    expect(tab.page).to_have_url(re.compile(r"/c/\d+/$"))
    expect(tab.page.get_by_role("heading", name="What should Docs writer do?")).to_be_visible()
    expect(tab.message).to_be_focused()
    tab.sees_connection(LIVE)
    before = pages_of(site)
    assert faults_of(before), "the sample is broken to begin with"

    tab.say(f"/plan {GOAL}")
    expect(tab.button("Start plan")).to_be_visible(timeout=A_RUN)
    tab.sees_plan(state="todo", version=1, approved_version="", run="idle")
    expect(tab.rows).to_have_count(5)
    assert pages_of(site) == before, "nothing runs before the yes"

    tab.rename(1, RENAMED)
    tab.sees_plan(version=2)
    expect(tab.button("Start v2")).to_be_visible()
    tab.remove(5)
    expect(tab.rows).to_have_count(4)
    assert pages_of(site) == before

    tab.button("Start v3").click()
    tab.sees_plan(state="in_progress", approved_version=3)
    expect(tab.subtasks.locator("[aria-current=step]")).to_have_count(1)
    tab.sees_plan(within=A_RUN, state="done", version=3, run="idle")
    assert tab.names()[0] == RENAMED
    assert "Check the result" not in tab.names()
    for row in tab.rows.all():
        expect(row).to_have_attribute("data-state", "done")
    expect(tab.progress).to_have_attribute("aria-valuenow", "4")
    expect(tab.articles.last).to_have_attribute("data-kind", "closing")
    expect(tab.button("Stop the reply")).to_have_count(0)

    pages = pages_of(site)
    assert faults_of(pages) == []
    assert "| `--dry-run` |" in pages["README.md"]


def shown(tab):
    """All that the drawer and the conversation say."""
    tab.sees_plan(state="done")
    said = tab.articles.all_text_contents()
    return tab.plan.inner_text(), [re.sub(r"\s+", " ", each) for each in said]


def pages_of(site):
    root = site.file(".", "docs-writer")
    return {str(page.relative_to(root)): page.read_text() for page in root.rglob("*.md")}


def faults_of(pages):
    """Empty sections and links that lead nowhere, found without the product's own code."""
    return [fault for name, text in pages.items() for fault in [*gaps(text), *dead(name, pages)]]


def gaps(text):
    found = re.findall(r"^(#+ .+)\n+(?=TODO$|## |\Z)", without_code(text), re.MULTILINE)
    return [heading for heading in found if not heading.startswith("# ")]


def dead(name, pages):
    folder = name.rpartition("/")[0]
    for path, anchor in LINK.findall(without_code(pages[name])):
        if "://" in path:
            continue
        target = resolved(folder, path) if path else name
        if target.endswith(".md"):
            is_there = target in pages and (not anchor or anchor in anchors(pages[target]))
        else:
            is_there = target in ("tidybox.py", "rules.py", "examples/rules.json")
        if not is_there:
            yield f"{name}: {path}#{anchor}"


def resolved(folder, path):
    parts = folder.split("/") if folder else []
    for part in unquote(path).split("/"):
        parts = parts[:-1] if part == ".." else [*parts, part]
    return "/".join(parts)


def anchors(text):
    headings = re.findall(r"^#+ (.+)$", without_code(text), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def without_code(text):
    return re.sub(r"^```.*?^```$", "code", text, flags=re.MULTILINE | re.DOTALL)
