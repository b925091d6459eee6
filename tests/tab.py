"""One tab of the browser, in the words of the page: roles and names, as interface.md has them."""

import re
from contextlib import contextmanager, suppress
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import Error, expect

GOAL = "Tidy up the project README and API docs — fill in missing sections and fix broken links"
LIVE, POLLING, OFFLINE = "Live", "Checking every 5 s", "Offline"
RESTARTING = "Planside is restarting"
A_MOMENT = 600  # ms; who presses sooner after a change has not read it
PATIENCE = 10_000  # ms; for what has to come some time
A_RUN = 60_000  # that the demo may take for all of its work
GIVEN_UP = ("NS_BINDING_ABORTED", "NS_ERROR_ABORT")  # by Firefox
UNANSWERED = "NetworkError when attempting to fetch resource"  # said by Firefox of those, too
A_POLL = PATIENCE  # what a poll or a new connection brings


# Who is about to press a button presses that one: drawn anew it may look otherwise, and never do
# something else in the same place.
SAME_BUTTONS = """
addEventListener("DOMContentLoaded", () => {
  const does = (b) => b.getAttribute("hx-post") ?? b.getAttribute("hx-get") ?? b.dataset.opens ?? b.type;
  const name = (b) => (b.ariaLabel ?? b.textContent).trim();
  const known = new WeakMap();
  const look = (button) => {
    const was = known.get(button), now = [does(button), name(button)];
    if (was && was[0] !== now[0] && was[1] !== now[1]) console.error(`a button became another: ${was} -> ${now}`);
    known.set(button, now);
  };
  const within = (node) => node.querySelectorAll?.("button") ?? [];
  document.querySelectorAll("button").forEach(look);
  new MutationObserver((records) => {
    const changed = new Set();
    for (const { target, addedNodes } of records) {
      changed.add(target.closest("button"));
      for (const node of addedNodes) [node, ...within(node)].forEach((each) => changed.add(each));
    }
    for (const each of changed) if (each instanceof HTMLButtonElement && each.isConnected) look(each);
  }).observe(document.body, { subtree: true, childList: true, attributes: true });
});
"""


class Tab:
    """A page, and what went wrong on it: script errors, its console, requests that failed."""

    def __init__(self, page, address):
        self.page = page
        self.address = address
        self.complaints = []
        self.expected = []
        self.held = []
        self.requests = Requests(page, self.complaints)
        page.add_init_script(SAME_BUTTONS)
        page.on("console", self.hear)
        page.on("pageerror", lambda error: self.complaints.append(f"script: {error}"))
        # Playwright hands file dialogs over only some time after somebody began to listen, which
        # a press may overtake.
        page.on("filechooser", lambda chooser: None)

    def hear(self, message):
        # `Requests` tells a request that broke from one that was given up.
        if message.type in ("error", "warning") and UNANSWERED not in message.text:
            self.complaints.append(f"{message.type}: {message.text}")

    def expects(self, *patterns):
        """What the test itself provokes is no complaint; a number is a refusal's status."""
        self.expected += [rf"status of {p}\b" if p.isdigit() else p for p in patterns]

    def faults(self):
        """Complaints that nobody expected, and style attributes, which the policy forbids."""
        heard = [c for c in self.complaints if not any(re.search(p, c) for p in self.expected)]
        return heard + [f"style attribute: {html}" for html in self.styled()]

    def styled(self):
        """Also while another page opens."""
        while not self.page.is_closed():
            try:
                return self.page.evaluate(STYLED)
            except Error:
                self.page.wait_for_load_state()
        return []

    # Going places

    def open(self, path="/"):
        self.page.goto(self.address + path)
        return self

    def chat(self, conversation):
        return self.open(f"/c/{conversation}/")

    # What is on the page

    @property
    def message(self):
        return self.page.get_by_role("textbox", name="Message", exact=True)

    @property
    def log(self):
        return self.page.get_by_role("log", name="Conversation", exact=True)

    @property
    def articles(self):
        return self.log.get_by_role("article")

    @property
    def plan(self):
        return self.page.get_by_role("complementary", name="Plan", exact=True)

    @property
    def subtasks(self):
        return self.plan.get_by_role("list", name="Subtasks", exact=True)

    @property
    def rows(self):
        return self.subtasks.locator(":scope > li")

    def row(self, number):
        return self.rows.nth(number - 1)

    @property
    def progress(self):
        return self.plan.get_by_role("progressbar", name="Plan progress", exact=True)

    @property
    def drawer_toggle(self):
        named = self.page.get_by_role("button", name=re.compile(r"^(Plan|\d+ plans)\b"))
        return named.and_(self.page.locator("[aria-controls=plan]"))

    @property
    def alerts(self):
        return self.page.get_by_role("alert").filter(has_text=re.compile(r"\S"))

    def button(self, name):
        """One that starts or allows something is there for a person once it is armed."""
        return armed(self.page.get_by_role("button", name=name, exact=True))

    def editor(self, name):
        return self.plan.get_by_role("form", name=name, exact=True)

    # Doing things

    def say(self, text):
        self.message.fill(text)
        self.button("Send").click()

    def edit(self, number, name):
        """Open a subtask's editor and type another name into it, saving nothing."""
        self.button(f"Edit subtask {number}").click()
        field = self.editor(f"Edit subtask {number}").get_by_role("textbox").first
        field.fill(name)
        return field

    def rename(self, number, name):
        self.edit(number, name)
        self.editor(f"Edit subtask {number}").get_by_role("button", name="Save").click()

    def remove(self, number):
        self.row(number).hover()
        self.button(f"Remove subtask {number}").click()

    @contextmanager
    def sends(self):
        """Until the server has answered what is sent meanwhile, and not what was sent before."""
        self.has_sent_all()
        sent = []

        def note(request):
            if is_deed(request):
                sent.append(request)

        self.page.on("request", note)
        with self.page.expect_response(lambda answer: answer.request in sent):
            yield
        self.page.remove_listener("request", note)

    def has_sent_all(self):
        """Until the test has heard of each request that the page has made by now."""
        self.page.evaluate(
            "() => fetch('/healthz').then((answer) => answer.text()).catch(() => '')"
        )

    def has_all_answers(self):
        """Until what the page has asked by now is answered, but for what the test holds."""
        self.has_sent_all()
        asked = set(self.requests.under_way)

        def are_answered():
            held = {route.request for each in self.held for route in each}
            return not (asked & self.requests.under_way) - held

        wait_for(self, are_answered)

    def hold(self, address):
        """Requests to this address wait in the list until the test lets them go on."""
        self.held.append(Held(self.page, address))
        return self.held[-1]

    def hears_nothing_until_it_asks(self):
        """Beside a blocked socket: the page learns of no change before it has sent something. The
        server is within reach and has no news; an offline page would send nothing at all. What it
        asked before is answered first: else the answer would tell of what the test does next."""
        sent = []

        def note(request):
            if is_deed(request):
                sent.append(request)

        self.page.on("request", note)
        self.page.route(
            re.compile(r"/c/\d+/(changes|drawer)|/sidebar|/needs/changes"),
            lambda route: route.continue_() if sent else route.fulfill(status=304),
        )
        if self.page.url != "about:blank":
            self.has_all_answers()

    # Seeing that it has become so

    def sees_connection(self, words, within=A_POLL):
        status = self.page.get_by_role("status").filter(has_text=words)
        expect(status.first).to_be_visible(timeout=within)

    def sees_plan(self, within=A_POLL, **attributes):
        """plan(state="done", version=3): data attributes of the drawer."""
        for name, value in attributes.items():
            attribute = f"data-{name.replace('_', '-')}"
            expect(self.plan).to_have_attribute(attribute, str(value), timeout=within)

    def sees_rows(self, *names, within=A_POLL):
        named = [re.compile(re.escape(name)) for name in names]
        expect(self.rows).to_have_text(named, timeout=within)

    def names(self):
        return self.rows.locator("b").all_inner_texts()


def is_deed(request):
    """A person's, and not what a page sends by itself: a draft, or that something is in view."""
    return request.method == "POST" and not request.url.endswith(("/draft", "/look"))


def wait_for(tab, is_so, milliseconds=PATIENCE):
    """Until something that the test itself records has come true."""
    for _ in range(milliseconds // 10):
        if is_so():
            return
        tab.page.wait_for_timeout(10)
    pytest.fail("it did not come true in time")


class Held(list):
    """Requests to one address, each as Playwright's route, that wait for the test."""

    def __init__(self, page, address):
        super().__init__()
        self.page, self.address = page, address
        page.route(address, lambda route: self.append(route))

    def release(self):
        """All go on, and no later one is held; nor is one that came between these two."""
        now = len(self)
        for route in self[:now]:
            route.continue_()
        self.page.unroute(self.address)
        for route in self[now:]:
            with suppress(Error):  # the end of the holding may have let it go
                route.continue_()


class Requests:
    """Each request that was refused, broke or was given up; one left behind by going elsewhere was
    not."""

    def __init__(self, page, complaints):
        self.page, self.complaints = page, complaints
        self.under_way, self.left_behind = set(), set()
        self.is_leaving = False
        page.on("request", self.begin)
        page.on("requestfinished", self.finish)
        page.on("requestfailed", self.fail)
        page.on("response", self.answer)
        page.on("framenavigated", self.arrive)

    def begin(self, request):
        if request.is_navigation_request():
            self.is_leaving = True
            self.left_behind |= self.under_way
        elif self.is_leaving:
            self.left_behind.add(request)
        self.under_way.add(request)

    def arrive(self, _frame):
        self.is_leaving = False

    def finish(self, request):
        self.under_way.discard(request)

    def fail(self, request):
        self.under_way.discard(request)
        # Firefox gives up by itself what the next page, or the next icon, makes needless.
        is_given_up = request in self.left_behind or request.failure in GIVEN_UP
        if not is_given_up and not self.page.is_closed():
            self.complaints.append(f"request: {told(request)} {request.failure}")

    def answer(self, response):
        if response.status >= 400:
            self.complaints.append(
                f"request: {told(response.request)}, a status of {response.status}"
            )


def told(request):
    return f"{request.method} {urlsplit(request.url).path}"


STYLED = """() => [...document.querySelectorAll("[style]")].map((e) => e.outerHTML.slice(0, 120))"""


def armed(locator):
    """It, where a press of it counts by now (static/js/approving.js)."""
    return locator.and_(locator.page.locator(":not([data-unarmed])"))
