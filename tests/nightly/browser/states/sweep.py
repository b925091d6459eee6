"""Looks for what hinders a reader in every state of the product, page, dialog and menu.

    make axe [ONLY="menus agents"] [LANGUAGE=zh-CN] [WIDTHS="390 1440"]

Each place of `page_states` is looked at in five widths, in light, dark and forced colours. Found
are what axe-core complains about, targets under 24 px, a page that scrolls sideways, and text that
is cut off or runs out of its control. It takes about an hour, and fails if anything is found. With
LANGUAGE it looks at each page, and at what its buttons open, in that language.
"""

import argparse
import sys
from collections import defaultdict
from functools import partial
from pathlib import Path
from urllib.parse import urlsplit

from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import expect

from tests.browser.conftest import PATIENCE
from tests.nightly.browser.states import page_states
from tests.nightly.browser.states.compare_pages import at_rest, browser, running, tell
from tests.nightly.browser.states.test_states import State
from tests.tab import Tab

WIDTHS = (1440, 1024, 768, 390, 360)
HEIGHT = 900
SCRIPT = (Path(__file__).parent / "cut_off.js").read_text()
# Not in force by themselves; who speaks to a button says the words that stand on it.
ALSO = {rule: {"enabled": True} for rule in ("target-size", "label-content-name-mismatch")}
EVERY_RULE = {"resultTypes": ["violations"], "rules": ALSO}
# What else axe looks at is the same in every colour.
COLOURS = {"resultTypes": ["violations"], "runOnly": ["color-contrast", "link-in-text-block"]}
LOOKS = (
    ("light", {"color_scheme": "light", "forced_colors": "none"}, EVERY_RULE),
    ("dark", {"color_scheme": "dark", "forced_colors": "none"}, COLOURS),
    ("forced", {"color_scheme": "light", "forced_colors": "active"}, COLOURS),
)
IS_SHEET = """() => Boolean(document.querySelector("[data-drawer=open] > .drawer:not([hidden])"))"""
DRAWN = "new Promise((then) => requestAnimationFrame(() => requestAnimationFrame(then)))"
TOGGLE_SHEET = """() => document.querySelector("[data-toggle-drawer]").click()"""


class Sweep:
    """Every fault, and in which places, widths and looks it was seen."""

    def __init__(self, widths, language):
        self.widths, self.language = widths, language
        self.faults, self.missed, self.places = defaultdict(list), [], 0
        self.seen = set()

    def go(self, only):
        wanted = [look for look in page_states.LOOKS if not only or look.__name__ in only]
        with browser() as chromium, running() as site:
            self.open = partial(new_tab, chromium, site.address, site.sign_in(chromium))
            for look in wanted:
                tab = self.open("en-GB")
                try:
                    for place in look(State(site, tab)):
                        if place != "again":  # after a reload it is the same
                            self.look_at(tab, "-".join(filter(None, (look.__name__, place))))
                except Exception as error:  # the others are worth a look all the same
                    self.missed.append(f"{look.__name__}: {error}")
                tab.page.context.close()
                page_states.clean(site)
                tell(f"{look.__name__}: {self.places} places, {len(self.faults)} faults")

    def look_at(self, tab, name):
        if self.language:
            self.look_at_it_translated(tab, name)
        else:
            self.note(name, faults_of(tab, self.widths))

    def look_at_it_translated(self, tab, name):
        """The same page in another tab, and what its buttons open: states are brought about by
        the words of the buttons, so by a page in English."""
        words = (urlsplit(tab.page.url).path, tab.page.locator("body").inner_text())
        if words in self.seen:
            return
        self.seen.add(words)
        other = self.open(self.language)
        other.page.goto(tab.page.url)
        self.note(name, faults_of(other, self.widths, LOOKS[:1]))
        for dialog in page_states.dialogs_of(other, name):
            if dialog.removeprefix(name) not in self.seen:
                self.seen.add(dialog.removeprefix(name))
                self.note(dialog, faults_of(other, self.widths, LOOKS[:1]))
        other.page.context.close()

    def note(self, name, found):
        self.places += 1
        for where, fault in found:
            if fault not in self.faults:
                tell(f"  {name} {where}: {fault}")
            self.faults[fault].append(f"{name} {where}")


def new_tab(chromium, address, session, language):
    context = chromium.new_context(
        storage_state=session,
        viewport={"width": 1440, "height": HEIGHT},
        reduced_motion="reduce",
        locale=language,
    )
    context.set_default_timeout(PATIENCE)
    return Tab(context.new_page(), address)


def faults_of(tab, widths, looks=LOOKS):
    """Where, and what, of one place as it is; it stays usable afterwards."""
    at_rest(tab.page)
    if not tab.page.evaluate("Boolean(window.axe)"):
        tab.page.evaluate(Axe().axe_script)
        tab.page.evaluate(SCRIPT)
    for width in widths:
        tab.page.set_viewport_size({"width": width, "height": HEIGHT})
        yield from at_width(tab, width, looks)
        if width < 820 and tab.page.evaluate(IS_SHEET):
            tab.page.evaluate(TOGGLE_SHEET)
            yield from at_width(tab, f"{width} without the sheet", looks)
            tab.page.evaluate(TOGGLE_SHEET)
    tab.page.emulate_media(color_scheme="light", forced_colors="none")
    tab.page.set_viewport_size({"width": 1440, "height": HEIGHT})
    tab.page.evaluate(DRAWN)  # a press while the page moves meets what is under it by then


def at_width(tab, width, looks):
    for name, media, options in looks:
        tab.page.emulate_media(**media)
        for found in tab.page.evaluate("(options) => axe.run(options)", options)["violations"]:
            for node in found["nodes"]:
                what = node["failureSummary"].splitlines()[1].strip()
                yield f"{width} {name}", f"{found['id']}: {node['html'][:140]}: {what}"
        if name == "light":
            for fault in tab.page.evaluate("cutOff()"):
                yield str(width), fault


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--only", nargs="*", help="names of functions of page_states")
    parser.add_argument("--language", help="what the browser asks for, such as zh-CN")
    parser.add_argument("--widths", nargs="*", type=int, default=WIDTHS)
    given = parser.parse_args()
    expect.set_options(timeout=PATIENCE)
    sweep = Sweep(given.widths, given.language)
    sweep.go(given.only)
    for fault, where in sweep.faults.items():
        tell(f"{fault}\n    {len(where)}: {'; '.join(where[:6])}")
    for each in sweep.missed:
        tell(f"not brought about: {each}")
    found = (sweep.faults, sweep.missed)
    tell("{} places, {} faults, {} states not brought about".format(sweep.places, *map(len, found)))
    sys.exit(1 if any(found) else 0)


if __name__ == "__main__":
    main()
