"""How much a browser takes in before it shows a page: HTML, style sheets, scripts, texts and icons,
compressed as the server sends them, without the typeface."""

import sys

import pytest
from django.test import override_settings

from tests.benchmarks.weight import FONT, named_in
from tests.inner import set_preferences, static_files
from tests.world import conversation, person, plan_of, signed_in, tell

pytestmark = pytest.mark.django_db(transaction=True)

MOST = 145_000  # bytes
GOAL = (
    "/plan Tidy up the project README and API docs — fill in missing sections and fix broken links"
)
SETTINGS = [
    *("agents", "chains", "approvals", "models", "tools"),
    *("notifications", "appearance", "account", "people"),
]


@pytest.fixture(scope="module")
def collected(tmp_path_factory):
    """Where the files lie as a server sends them."""
    root = tmp_path_factory.mktemp("home") / "static"
    with override_settings(PLANSIDE_HOME=root.parent, STATIC_ROOT=root):
        static_files.collect()
    return root


def addresses():
    c = conversation(provider="demo", model="docs")
    yield "chat, empty", f"/c/{c.pk}/"
    tell(c, GOAL)
    yield "chat beside a plan", f"/c/{c.pk}/"
    yield "plans", "/plans/"
    yield "plan page", f"/plans/{plan_of(c).pk}/"
    tell(c, "go ahead")
    yield "chat after its plan", f"/c/{c.pk}/"
    yield "page of that plan", f"/plans/{plan_of(c).pk}/"
    yield "needs you", "/needs/"
    for name in SETTINGS:
        yield f"settings, {name}", f"/settings/{name}/"


@pytest.mark.parametrize("language", ["en", "zh-hans"])
def test_no_page_takes_more_than_145_kilobytes(own_home, collected, language):
    owner = person("alice")
    owner.is_superuser = owner.is_staff = True
    owner.save()
    set_preferences(owner, language=language)
    alice = signed_in(owner)
    weights = {name: weight(alice, path, collected) for name, path in addresses()}
    table = [f"{name:<24}{size / 1000:7.1f} kB" for name, size in weights.items()]
    sys.stdout.write("\n".join(["", language, *table, ""]))  # `make weight` shows it
    assert {name: size for name, size in weights.items() if size > MOST} == {}


def weight(client, path, collected):
    answer = client.get(path, headers={"Accept-Encoding": "gzip"})
    assert answer.status_code == 200, path
    page = client.get(path).content.decode()
    sizes = [size(client, each, collected) for each in named_in(page) if not each.endswith(FONT)]
    return len(answer.content) + sum(sizes)


def size(client, path, collected):
    if path.startswith("/texts/"):
        return len(client.get(path, headers={"Accept-Encoding": "gzip"}).content)
    folder, _, name = path.removeprefix("/static/").rpartition("/")
    stem, ending = name.rsplit(".", 1)
    (file,) = (collected / folder).glob(f"{stem}.*.{ending}.gz")
    return file.stat().st_size
