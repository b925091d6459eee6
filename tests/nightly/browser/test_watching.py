"""Watching a plan in the drawer: what runs stays in view, results are short, and rest is still."""

import re

from playwright.sync_api import expect

FLAT = {"width": 1280, "height": 300}
IS_SEEN = """() => {
  const [row, seen] = ["#subtasks [aria-current=step]", "#plan-scroll"].map((which) =>
    document.querySelector(which)?.getBoundingClientRect());
  return row && row.top >= seen.top && row.bottom <= seen.bottom + 1;
}"""
AT = "() => document.querySelector('#plan-scroll').scrollTop"


def test_the_drawer_follows_what_runs_until_its_reader_scrolls(site, open_tab):
    # Else it scrolls smoothly, and has not moved yet when it is looked at.
    tab = open_tab(f"/c/{site.scripted('hang')}/", reduced_motion="reduce")
    tab.page.set_viewport_size(FLAT)
    with tab.sends():
        tab.button("Start plan").click()
    site.drive()
    expect(tab.row(2)).to_have_attribute("data-state", "in_progress")
    tab.page.wait_for_function(IS_SEEN)
    assert tab.page.evaluate(AT) > 0
    tab.page.locator("#plan-scroll").hover()
    tab.page.mouse.wheel(0, -2000)
    tab.page.wait_for_function(f"() => ({AT})() === 0")
    tab.page.evaluate("() => document.dispatchEvent(new CustomEvent('planside:drawer-opened'))")
    assert tab.page.evaluate(AT) == 0, "whoever has scrolled is left where they are"


def test_a_clock_of_work_waits_for_the_servers_and_never_goes_back(site, open_tab, clock):
    page = open_tab(f"/c/{site.conversation('scripted')}/").page
    page.evaluate(
        """() => {
          const clock = document.createElement("span");
          clock.id = "clock-tried";
          clock.dataset.form = "clock";
          window.since = (seconds) => {
            clock.dataset.since = new Date(Date.now() - seconds * 1000).toISOString();
          };
          window.since(100);
          document.body.append(clock);
        }"""
    )
    shown_clock = page.locator("#clock-tried")
    expect(shown_clock).to_have_text(re.compile("^1:4[0-9]$"))
    shown = page.evaluate(
        """() => {
          const shown = document.getElementById("clock-tried").textContent;
          const [minutes, seconds] = shown.split(":").map(Number);
          window.since(60 * minutes + seconds - 3);
          return shown;
        }"""
    )
    clock.run_for(1_200)  # a tick
    assert shown_clock.text_content() >= shown, "told anew a little late"
    page.evaluate("window.since(20)")
    expect(shown_clock).to_have_text(re.compile("^0:2[0-9]$"))
