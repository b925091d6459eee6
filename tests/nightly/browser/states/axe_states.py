"""States in which single tests once asked axe: long lists, refusals, files on their way, menus."""

import json
import re
import threading
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from playwright.sync_api import expect

from tests.browser.test_attachments import drag, file
from tests.browser.test_refusals import FORMS
from tests.fake_model import call, rule, say
from tests.images import PETROL, RED, png
from tests.nightly.browser.test_engine import ASKED, HANDED, NAMES
from tests.nightly.browser.test_markdown import REPLY
from tests.nightly.browser.test_models import GOOD_KEY
from tests.tab import A_RUN

MANY = "mkdir many; for n in $(seq 250); do echo $n > many/$n.txt; done"
HALF = call("create_plan", title="Half of it", subtasks=NAMES)
ROWS = call("write_file", path="b.txt", content="\n".join(["row"] * 812))
RULES = [
    rule(say(REPLY), user="solve it"),
    rule(ROWS, user="write many rows", results=0),
    rule(say("They are written."), user="write many rows", results=1),
    rule(call("shell", command=MANY), user=r"s\d+: Then multiply", results=0),
    rule(HANDED, user=r"s\d+: Then delegate", results=0),
    rule(HALF, only="create_plan", user="to tidy half"),
    rule(ASKED, user=r"s\d+: Half two", results=0),
]
SHOT = file("shot.png", png(90, 70, (RED, PETROL)), "image/png")


def formulas(s):
    tab = s.chat()
    tab.say("solve it")
    expect(tab.page.get_by_role("list", name="Footnotes")).to_be_visible()
    yield ""


def many_rows(s):
    """A diff of which a part is shown, and all of it."""
    tab = s.chat()
    tab.say("write many rows")
    expect(tab.log).to_contain_text("They are written.")
    tab.page.locator("details.tool > summary").click()
    whole = tab.button("Show all 812 lines")
    expect(whole).to_be_visible()
    yield "part"
    whole.click()
    expect(tab.page.locator(".whole-line")).to_have_count(812)
    yield "whole"


def files_on_their_way(s):
    """For a model that sees images and for one that does not."""
    for agent in ("scripted", "docs-writer"):
        tab = s.chat(agent)
        tab.expects("attachments", "Failed to load resource", "ERR_ABORTED")
        field = tab.page.locator("#files")
        field.set_input_files([SHOT, file("notes.txt"), file("photo.heic")])
        expect(tab.page.locator("#attachments .attachment")).to_have_count(3)
        tab.page.route("**/attachments?*", lambda route: route.abort())
        field.set_input_files([file("lost.txt")])
        expect(tab.page.get_by_text("Not uploaded", exact=True)).to_be_visible()
        held = tab.hold("**/attachments?*")
        field.set_input_files([file("held.txt")])
        tab.say("and at this")
        expect(tab.page.get_by_role("region", name="Message that waits")).to_be_visible()
        yield agent
        drag(tab, "dragenter")
        yield f"{agent}_dropping"
        held[0].abort()
        tab.page.unroute("**/attachments?*")


def many_changed_files(s):
    """A page of the first hundred, and the undo of all of them."""
    granted = {"write_file": "allow", "list_files": "allow"}
    s.site.change_agent(tools={**granted, "shell": "allow"})
    subtasks = [{"name": "Then multiply"}, {"name": "Last"}]
    plan = s.site.post("/plans", agent="scripted", title="Many", subtasks=subtasks)
    s.site.post(f"/plans/{plan['id']}/approve", version=1)
    s.wait(plan["conversation"], lambda now: now["state"] == "done")
    s.site.change_agent(tools=granted)
    tab = s.tab.open(f"/c/{plan['conversation']}/changed?plan={plan['id']}&subtask=s1")
    expect(tab.page.get_by_text("Files 1 to 100 of 250").first).to_be_visible()
    yield ""
    tab.button("Undo changes").click()
    dialog = tab.page.get_by_role("dialog")
    dialog.get_by_role("button", name="and 238 more").click()
    expect(dialog.locator(".restore-row:visible")).to_have_count(200)
    yield "undo"
    dialog.get_by_role("button", name="Undo changes").click()
    expect(tab.page.locator("#undone-toast")).to_contain_text("250 files removed.")


def nested_plan(s):
    """An agent that works for a subtask asks for something."""
    plan = {"enabled": True, "max_attempts": 1}
    s.site.post("/agents", id="helper", name="Helper", plan=plan, tools={"write_file": "ask"})
    s.site.change_agent("helper", provider="openai", model="scripted")
    s.site.change_agent(tools={"run_agent:helper": "allow"})
    made = s.site.post("/plans", agent="scripted", title="All", subtasks=["Then delegate"])
    s.site.post(f"/plans/{made['id']}/approve", version=1)
    s.tab.chat(made["conversation"])
    asks = s.tab.log.get_by_role("group", name="Let it use write_file?")
    expect(asks).to_be_visible(timeout=A_RUN)
    yield ""
    s.site.change_agent(tools={"write_file": "allow", "list_files": "allow"})


class Vendor(BaseHTTPRequestHandler):
    """A provider with 30 models that knows one key."""

    def do_GET(self):
        is_good = self.headers["Authorization"] == f"Bearer {GOOD_KEY}"
        models = [{"id": f"model-{n}", "context_length": 128000} for n in range(29)]
        models.append({"id": "model-eyes", "architecture": {"input_modalities": ["image"]}})
        refusal = {"error": {"message": "Incorrect API key provided"}}
        body = json.dumps({"data": models} if is_good else refusal).encode()
        self.send_response(200 if is_good else 401)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *args):
        pass


@contextmanager
def vendor(s, key):
    """A provider that knows one key."""
    with ThreadingHTTPServer(("127.0.0.1", 0), Vendor) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        address = f"http://127.0.0.1:{server.server_port}/v1"
        s.site.post("/providers", name="vendor", base_url=address, key=key)
        yield
        s.site.delete("/providers/vendor")
        server.shutdown()


def refused_key(s):
    with vendor(s, "wrong-0123456789"):
        tab = s.tab.open("/settings/models/?provider=vendor")
        card = tab.page.get_by_role("article", name="vendor", exact=True)
        expect(card).to_contain_text("Key refused")
        yield ""


def missing_model(s):
    """It is said above the message box, where something is sent, and on the agent's card."""
    with vendor(s, GOOD_KEY):
        s.site.change_agent("planless", provider="vendor", model="model-eye")
        tab = s.chat("planless")
        tab.expects("409")
        note = tab.page.get_by_role("alert").filter(has_text="There is no model model-eye")
        expect(note).to_be_visible()
        yield ""
        tab.say("Are you there?")
        expect(note).to_contain_text("Nothing was sent")
        yield "kept"
        tab.open("/settings/agents/?agent=planless")
        expect(tab.page.get_by_role("article", name="Planless")).to_contain_text("model-eye")
        yield "card"
        s.site.change_agent("planless", provider="openai", model="scripted")


def refused_fields(s):
    """One field of each form is wrong, and says why."""
    s.tab.expects("422", "409")
    for page, opens, typed, sends, wrong, _ in FORMS.values():
        s.tab.open(f"/settings/{page}")
        s.tab.page.get_by_role("button", name=opens, exact=True).first.click()
        dialog = s.tab.page.get_by_role("dialog")
        for label, value in typed.items():
            dialog.get_by_label(label).first.fill(value)
        dialog.get_by_role("button", name=sends).click()
        expect(dialog.get_by_label(wrong).first).to_have_attribute("aria-invalid", "true")
        yield re.sub(r"\W+", "_", f"{opens} {wrong}".lower())


def settled_elsewhere(s):
    """A question that was decided while the reason for a no was being typed."""
    tab = s.chat("careful")
    tab.say("write it down")
    tab.button("Deny").click()
    tab.page.get_by_label("Tell the agent why (optional)").press_sequentially("half a thought")
    messages = s.site.get(f"/conversations/{s.id}/messages")["items"]
    asked = next(made for message in messages for made in message["tool_calls"])
    s.site.post(f"/tool-calls/{asked['id']}/decide", decision="allow_once")
    expect(tab.alerts).to_have_text("Settled elsewhere. Your text is kept.")
    yield ""


def row_menu(s):
    tab = s.chat()
    row = tab.page.locator(f"#conversation-{s.id}")
    row.hover()
    tab.page.locator(f"#row-{s.id}").click()
    expect(tab.page.locator("#row-menu")).to_be_visible()
    yield ""


def shown_once(s):
    """A link to sign in and a token, which are shown when they are made and never again."""
    tab = s.tab.open("/settings/account/")
    tab.button("Make a sign-in link").click()
    expect(tab.button("Copy link")).to_be_focused()
    tab.button("New token").click()
    tab.page.get_by_label("Name, after what uses it").fill("Nightly build")
    tab.page.keyboard.press("Enter")
    expect(tab.button("Copy token")).to_be_focused()
    yield ""
    tab.button("Revoke Nightly build").click()
    tab.page.get_by_role("dialog").get_by_role("button", name="Revoke").click()
    expect(tab.button("Revoke Nightly build")).to_have_count(0)


AXE_LOOKS = (
    *(formulas, many_rows, files_on_their_way, many_changed_files, nested_plan, refused_key),
    *(missing_model, refused_fields, settled_elsewhere, row_menu, shown_once),
)
