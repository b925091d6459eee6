"""Style sheets, scripts and fonts: each at an address whose content never changes."""

import re

import pytest
from django.conf import settings
from django.test import Client

from tests.benchmarks.weight import named_in
from tests.inner import static_files
from tests.lint.test_layers import ROOT
from tests.world import conversation

SOURCE = ROOT / "static"
HASH = re.compile(r"\.[0-9a-f]{12}(?=\.)")


@pytest.fixture
def collected(own_home, settings):
    settings.STORAGES = settings.COLLECTED
    settings.STATIC_ROOT = own_home / "static"
    settings.WHITENOISE_USE_FINDERS = False
    static_files.collect()
    return settings.STATIC_ROOT


def text_of(root, name):
    stem, _, ending = name.partition(".")
    (path,) = root.glob(f"{stem}.*.{ending}")
    return path.read_text()


def test_a_style_sheet_holds_the_rules_of_its_components_in_their_order(collected):
    joined = text_of(collected, "css/planside.css")
    assert "@import" not in joined and "/*" not in joined
    places = [joined.index(rule) for rule in ("@layer reset,", "--canvas:", "@layer states {")]
    assert places == sorted(places)


def test_no_component_is_forgotten():
    sheets = {path.name for path in (SOURCE / "css").iterdir()}
    imported = re.findall(
        r'@import "(.+)"', "".join(p.read_text() for p in (SOURCE / "css").iterdir())
    )
    templates = "".join(path.read_text() for path in (ROOT / "templates").rglob("*.html"))
    assert sheets == {*imported, *re.findall(r"'css/(.+?)'", templates)}
    scripts = {path.name for path in (SOURCE / "js").iterdir()}
    source = "".join(path.read_text() for path in (SOURCE / "js").iterdir())
    needed = re.findall(r'(?:from |import\()"\./(.+?)"', source)
    assert scripts == {*needed, *re.findall(r"'js/(.+?)'", templates)}


def test_scripts_name_each_other_by_hash(collected):
    for path in (collected / "js").glob("*.js"):
        for name in re.findall(r'(?:from |import\()"\./(.+?)"', path.read_text()):
            assert HASH.search(name) and (collected / "js" / name).exists(), (path.name, name)


def test_what_a_style_sheet_names_by_its_id_is_on_some_page():
    sources = (*(ROOT / "templates").rglob("*.html"), *(SOURCE / "js").glob("*.js"))
    text = "".join(each.read_text() for each in sources)
    known = set(re.findall(r"""\bid(?:=|: | = )"([\w-]+)""", text))
    for sheet in (SOURCE / "css").glob("*.css"):
        selectors = re.findall(r"[^{};]+(?={)", re.sub(r'"[^"]*"', "", sheet.read_text()))
        named = {each for one in selectors for each in re.findall(r"#([a-z][\w-]*)", one)}
        assert named <= known, sheet.name


def test_what_was_collected_is_not_collected_again(collected):
    (sheet,) = (collected / "css").glob("planside.*.css")
    sheet.write_text("kept")
    static_files.collect()
    assert sheet.read_text() == "kept"
    assert not list(collected.parent.glob(".static?*/"))


def test_what_a_kill_left_is_collected_again(collected):
    left = collected.parent / ".staticabcdefgh"
    left.mkdir()
    (manifest,) = collected.glob("*.json")
    manifest.unlink()
    (sheet,) = (collected / "css").glob("planside.*.css")
    sheet.unlink()
    static_files.collect()
    assert manifest.exists() and sheet.exists() and not left.exists()


FOREVER = "max-age=31536000, public, immutable"


@pytest.mark.django_db
def test_what_an_older_version_has_collected_is_still_served(collected):
    (collected / "js" / "page.0123456789ab.js").write_text("// older")
    answer = Client().get("/static/js/page.0123456789ab.js")
    assert (answer.getvalue(), answer.headers["Cache-Control"]) == (b"// older", FOREVER)


@pytest.mark.django_db
def test_what_a_newer_version_collects_meanwhile_is_served_too(collected):
    client = Client()
    address = "/static/js/page.0123456789ab.js"
    assert client.get(address).status_code == 404
    (collected / "js" / "page.0123456789ab.js").write_text("// newer")
    answer = client.get(address)
    assert (answer.getvalue(), answer.headers["Cache-Control"]) == (b"// newer", FOREVER)
    (collected.parent / "outside.0123456789ab.js").write_text("secret")
    long = f"/static/{'a' * 300}.0123456789ab.js"
    for outside in (
        "/static/../secret.key",
        "/static/js/../../secret.key",
        "/static//etc/passwd",
        "/static//etc/passwd.0123456789ab.js",
        "/static/../outside.0123456789ab.js",
        "/static/js\\page.0123456789ab.js",
        long,
    ):
        assert client.get(outside).status_code == 404


def test_a_typeface_is_small_and_has_its_licence():
    faces = list((SOURCE / "vendor").rglob("*.woff2"))
    assert len(faces) >= 6
    for face in faces:
        assert face.stat().st_size <= 60_000, face
        assert "SIL Open Font License" in face.with_name("LICENSE").read_text()
        assert (
            f'"../vendor/{face.relative_to(SOURCE / "vendor")}"'
            in (SOURCE / "css" / "fonts.css").read_text()
        )


def test_code_has_no_ligatures():
    for path in (SOURCE / "css").glob("*.css"):
        rules = re.findall(r"\{[^{}]*font: var\(--t-mono\)[^{}]*\}", path.read_text())
        assert all("font-variant-ligatures: none" in rule for rule in rules), path.name


SCRIPTS = re.findall(r"'(js/.+?)'", (ROOT / "templates" / "_scripts.html").read_text())
EVERY_PAGE = [
    "css/planside.css",
    "icon.svg",
    "icons.svg",
    "vendor/htmx-4.0.1/htmx-with-ws.min.js",
    "vendor/inter-4.1/latin.woff2",
]


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("path", "more"),
    [
        ("/c/{}/", []),
        ("/plans/", ["css/pages.css"]),
        ("/needs/", ["css/pages.css"]),
        ("/settings/agents/", ["css/pages.css", "js/lint.js", "js/settings.js"]),
        ("/settings/models/", ["css/pages.css", "js/settings.js"]),
    ],
)
def test_every_page_asks_for_the_same_few_files(alice, path, more):
    page = alice.get(path.format(conversation().pk)).content.decode()
    asked = [each.removeprefix(settings.STATIC_URL) for each in named_in(page)]
    assert asked == sorted([*EVERY_PAGE, *SCRIPTS, *more])
