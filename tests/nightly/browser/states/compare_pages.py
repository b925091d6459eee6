"""Shows that pages are as they were: takes every state of the product from two commits.

    make compare-pages OLD=main [RENAMED=FILE]       the commit against the folder as it is
    python -m tests.nightly.browser.states.compare_pages take FOLDER [--root CHECKOUT] [--only NAME …]
    python -m tests.nightly.browser.states.compare_pages compare BEFORE AFTER [--renamed FILE]

Of each place it keeps the elements (NAME.dom), the text as it is rendered (NAME.txt), what a
screen reader is told (NAME.aria) and pictures: at a desk, dark, on a phone. What differs by nature
(times, tokens, numbers of rows) is made the same first; see still_page.js. Two takes of one commit
are equal. `compare` lists every difference, draws those between pictures, and fails if any is left.

FILE has a line for each name that was changed on purpose: `class btn button`,
`class svg s small` (of this element only), `attribute data-z data-size`, `value data-z s small`.
It is applied to BEFORE.
"""

import argparse
import base64
import difflib
import json
import re
import shutil
import subprocess
import sys
import tempfile
from contextlib import contextmanager
from pathlib import Path

from playwright.sync_api import expect, sync_playwright

from tests.browser.conftest import CHROMIUM, FLAGS, PATIENCE
from tests.browser.scripted_site import TOOLS
from tests.console import serving
from tests.fake_model import FakeModelServer
from tests.nightly.browser.process import Process
from tests.nightly.browser.states import page_states
from tests.nightly.browser.states.test_states import READ, State
from tests.tab import Tab

HERE = Path(__file__).parent
SCRIPT = (HERE / "still_page.js").read_text()
DESK, PHONE = {"width": 1440, "height": 1800}, {"width": 390, "height": 1800}
SHUT = """(shut) => { const app = document.getElementById("app"); if (!app) return "";
  const was = app.dataset.drawer; app.dataset.drawer = shut; return was; }"""


@contextmanager
def browser():
    with sync_playwright() as playwright:
        started = playwright.chromium.launch(
            executable_path=CHROMIUM, args=[*FLAGS, "--no-sandbox"]
        )
        yield started
        started.close()


@contextmanager
def running(root=serving.ROOT):
    """The product of a checkout, on a home of its own."""
    serving.ROOT = root
    with (
        tempfile.TemporaryDirectory(prefix="planside-pages-") as folder,
        FakeModelServer(page_states.model_script()) as model,
    ):
        site = Process(
            Path(folder) / "home",
            PLANSIDE_DEMO_PACE="0.02",
            PLANSIDE_MODEL="demo/docs",
            OPENAI_BASE_URL=model.url,
            OPENAI_API_KEY="key",
        )
        site.model = model
        site.post("/agents", id="scripted", name="Scripted", plan={"enabled": True})
        site.change_agent(provider="openai", model="scripted", tools=TOOLS)
        page_states.prepare(site)
        yield site
        site.end()


def take(folder, root, only):
    """Every place, one file each; a state that cannot be brought about is an error."""
    folder.mkdir(parents=True, exist_ok=True)
    missed = []
    wanted = [look for look in page_states.LOOKS if not only or look.__name__ in only]
    with browser() as chromium, running(root) as site:
        session = site.sign_in(chromium)
        for look in wanted:
            context = chromium.new_context(
                storage_state=session, viewport=DESK, reduced_motion="reduce"
            )
            context.set_default_timeout(PATIENCE)
            tab = Tab(context.new_page(), site.address)
            tab.page.add_init_script(SCRIPT)
            try:
                for place in look(State(site, tab)):
                    keep(tab, folder / "-".join(filter(None, (look.__name__, place))))
            except Exception as error:  # the others are worth a look all the same
                missed.append(f"{look.__name__}: {error}")
            context.close()
            page_states.clean(site)
            tell(missed[-1] if missed and missed[-1].startswith(look.__name__) else look.__name__)
    if missed:
        sys.exit(f"{len(missed)} states were not brought about")


def keep(tab, path):
    """One place once it has come to rest; it stays usable afterwards."""
    page = tab.page
    page.mouse.move(0, 0)
    at_rest(page)
    page.evaluate("holdStill()")
    read = page.evaluate("readPage()")
    rows = (json.dumps(row, ensure_ascii=False, sort_keys=True) for row in read["rows"])
    path.with_suffix(".dom").write_text("\n".join(rows) + "\n")
    path.with_suffix(".txt").write_text(read["text"] + "\n")
    heard = re.sub(
        r"(/url: .*)", lambda url: re.sub(r"\d+", "#", url[1]), page.locator("body").aria_snapshot()
    )
    path.with_suffix(".aria").write_text(heard + "\n")
    picture(page, path, "desk")
    page.emulate_media(color_scheme="dark")
    picture(page, path, "dark")
    page.emulate_media(color_scheme="light")
    page.set_viewport_size(PHONE)
    picture(page, path, "phone")
    if page.evaluate("document.getElementById('app')?.dataset.drawer") == "open":
        page.evaluate(SHUT, "closed")
        picture(page, path, "phone-without-drawer")
        page.evaluate(SHUT, "open")
    page.set_viewport_size(DESK)
    page.evaluate("isStill = false")


def at_rest(page):
    """The log may still be on its way when the drawer has changed."""
    before, same = None, 0
    for _ in range(40):
        now = page.evaluate(READ)
        same = same + 1 if now == before else 0
        if same == 4:
            return
        before = now
        page.wait_for_timeout(250)


def picture(page, path, name):
    page.evaluate("holdStill()")
    page.screenshot(path=path.with_name(f"{path.name}.{name}.png"), animations="disabled")


# Comparing


def compare(before, after, renamed):
    """Prints every difference; whether there is none."""
    old, new = (
        {path.name for path in folder.iterdir() if path.is_file()} for folder in (before, after)
    )
    found = [f"only in {before}: {name}" for name in sorted(old - new)]
    found += [f"only in {after}: {name}" for name in sorted(new - old)]
    names = renames(renamed)
    both = sorted(old & new)
    for name in both:
        if not name.endswith(".png"):
            one, other = ((folder / name).read_text().splitlines() for folder in (before, after))
            if name.endswith(".dom"):
                one = [rename(line, names) for line in one]
            diff = list(difflib.unified_diff(one, other, lineterm="", n=1))[2:]
            found += [f"{name}\n  " + "\n  ".join(diff[:40])] if diff else []
    found += compare_pictures(before, after, [name for name in both if name.endswith(".png")])
    for each in found:
        tell(each)
    places = len([name for name in both if name.endswith(".dom")])
    tell(f"{places} places, {len(both)} files compared, {len(found)} differ")
    return not found


def renames(file):
    """{("class", "btn"): "button", ("value", "data-z", "s"): "small"}"""
    lines = file.read_text().splitlines() if file else []
    words = (line.split() for line in lines if line and not line.startswith("#"))
    return {tuple(names): new for *names, new in words}


def rename(line, names):
    row = json.loads(line)
    if len(row) < 3 or not names:
        return line
    attributes = {
        names.get(("attribute", name), name): names.get(("value", name, value), value)
        for name, value in row[2].items()
    }
    if "class" in attributes:
        words = attributes["class"].split()
        attributes["class"] = " ".join(
            names.get(("class", row[1], word)) or names.get(("class", word), word) for word in words
        )
    row[2] = attributes
    return json.dumps(row, ensure_ascii=False, sort_keys=True)


def compare_pictures(before, after, names):
    different = [
        name for name in names if (before / name).read_bytes() != (after / name).read_bytes()
    ]
    if not different:
        return
    drawn = after / "differences"
    drawn.mkdir(exist_ok=True)
    with browser() as chromium:
        page = chromium.new_page()
        page.add_script_tag(content=SCRIPT)
        for name in different:
            pair = [address((folder / name).read_bytes()) for folder in (before, after)]
            result = page.evaluate("(pair) => comparePictures(...pair)", pair)
            if result["share"]:
                (drawn / name).write_bytes(base64.b64decode(result["picture"].partition(",")[2]))
                yield f"{name}: {result['share']:.4%} of the pixels, see {drawn / name}"


def tell(line):
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


def address(png):
    return "data:image/png;base64," + base64.b64encode(png).decode()


def take_both(commit):
    """The commit in one folder, the checkout as it is in the other."""
    folders = [serving.ROOT / "test-results" / "pages" / name for name in ("before", "after")]
    for folder in folders:
        shutil.rmtree(folder, ignore_errors=True)
    root = serving.ROOT
    with tempfile.TemporaryDirectory(prefix="planside-commit-") as checkout:
        packed = subprocess.run(
            ["git", "archive", commit], cwd=root, check=True, capture_output=True
        )
        subprocess.run(["tar", "-x", "-C", checkout], input=packed.stdout, check=True)
        take(folders[0], Path(checkout), None)
    take(folders[1], root, None)
    return folders


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    verbs = parser.add_subparsers(dest="verb", required=True)
    taking = verbs.add_parser("take")
    taking.add_argument("folder", type=Path)
    taking.add_argument("--root", type=Path, default=serving.ROOT)
    taking.add_argument("--only", nargs="*")
    comparing = verbs.add_parser("compare")
    comparing.add_argument("before", type=Path)
    comparing.add_argument("after", type=Path)
    comparing.add_argument("--renamed", type=Path)
    since = verbs.add_parser("since")
    since.add_argument("commit")
    since.add_argument("--renamed", type=Path)
    given = parser.parse_args()
    expect.set_options(timeout=PATIENCE)
    if given.verb == "take":
        take(given.folder, given.root.resolve(), given.only)
        return
    folders = take_both(given.commit) if given.verb == "since" else (given.before, given.after)
    if not compare(*folders, given.renamed):
        sys.exit(1)


if __name__ == "__main__":
    main()
