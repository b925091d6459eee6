"""What the documents name is there: files and what is in them, tests, variables, addresses, events."""

import re
from functools import cache
from pathlib import Path

from tests.inner import KNOWN_PROVIDERS, api

ROOT = Path(__file__).parents[2]
DOCUMENTS = [*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md"), ROOT / "deploy" / "README.md"]
NAMED = re.compile(
    r"`((?:agents|plans|console|templates|static|tests|deploy|docs)/[\w./-]+)(?:: (\w+))?`"
)
LINK = re.compile(r"\]\(([^()#]*)(?:#([^()]+))?\)")
INTERFACE = (ROOT / "docs" / "interface.md").read_text()
OPERATIONS = (ROOT / "docs" / "operations.md").read_text()
EVENT = r"(?:conversation|message|tool|turn|plan|run)\.[a-z_]+"


def sources(*folders):
    return "\n".join(path.read_text() for name in folders for path in (ROOT / name).rglob("*.py"))


@cache
def code():
    return sources("agents", "plans", "console")


def faults(find):
    """What it finds in each document, with the name of that."""
    return [
        f"{path.relative_to(ROOT)}: {fault}"
        for path in DOCUMENTS
        for fault in find(path, path.read_text())
    ]


def test_files_and_what_is_said_to_be_in_them_are_there():
    def missing(document, text):
        if document.name == "CHANGELOG.md":  # it names what was there once
            return
        for name, within in NAMED.findall(text):
            path = next((p for p in (ROOT / name, ROOT / f"{name}.py") if p.exists()), None)
            if not path or (within and not re.search(rf"\b{within}\b", path.read_text())):
                yield f"{name} {within}"

    assert faults(missing) == []


def test_links_lead_somewhere():
    def broken(document, text):
        for target, anchor in LINK.findall(text):
            path = (document.parent / target) if target else document
            if target.startswith(("http:", "https:")):
                continue
            if not path.exists() or (
                anchor and path.suffix == ".md" and anchor not in anchors(path)
            ):
                yield f"{target}#{anchor}"

    assert faults(broken) == []


def anchors(path):
    headings = re.findall(r"^#+ (.+)$", path.read_text(), re.MULTILINE)
    return [re.sub(r"[^\w -]", "", each).lower().replace(" ", "-") for each in headings]


def test_tests_that_are_named_exist():
    known = set(re.findall(r"def (test_\w+)", sources("tests")))
    assert faults(lambda _, text: set(re.findall(r"`(test_\w+)`", text)) - known) == []


def test_the_api_is_documented_whole_and_no_more():
    """By method and path; what a parameter is called does not matter."""
    written = re.findall(r"^(GET|POST|PUT|PATCH|DELETE) +(/[^\s?]*)", INTERFACE, re.MULTILINE)
    paths = api.get_openapi_schema()["paths"]
    offered = {
        (verb.upper(), path.removeprefix("/api")) for path, verbs in paths.items() for verb in verbs
    }

    def plain(operations):
        return {(verb, re.sub(r"\{\w+\}", "{}", path)) for verb, path in operations}

    assert plain(written) == plain(offered)


def test_every_variable_that_is_read_is_documented_and_no_other():
    read = set(
        re.findall(r'\.(?:text|secret|number|limit|port|names|one_of|yes)\(\s*"([A-Z_]+)"', code())
    )
    read |= set(re.findall(r'(?<!\.)\b(?:text|limit)\("([A-Z_]+)"', code()))
    read |= {name for known in KNOWN_PROVIDERS for name in (*known.keys, known.address_variable)}
    table = OPERATIONS.partition("## Environment")[2]
    written = {
        name
        for row in re.findall(r"^\| (`.*?) \|", table, re.MULTILINE)
        for name in re.findall(r"`(\w+)`", row)
    }
    assert {name for name in written if not name.startswith("OTEL_EXPORTER")} == read - {""}


def test_every_type_of_event_is_documented_and_no_other():
    table = INTERFACE.partition("| about | types |")[2].partition("\n\n")[0]
    written = set(re.findall(EVENT, table))
    assert written <= set(re.findall(rf'"({EVENT})"', code()))
    recorded = re.findall(rf'record(?:_event)?\([^()]*?"({EVENT})"', code())
    assert set(recorded) <= written


def test_every_metric_is_documented_and_no_other():
    made = set(re.findall(r'"(planside_[a-z_]+)"', code()))
    written = set(re.findall(r"planside_[a-z_]+", OPERATIONS.partition("## Metrics")[2]))
    assert {name.removesuffix("_total") for name in written} == {
        name.removesuffix("_total") for name in made
    }
