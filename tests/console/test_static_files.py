"""Style sheets, scripts and fonts: few files, each at an address whose content never changes."""

import re

import pytest
from django.conf import settings
from django.http import HttpResponse
from django.test import RequestFactory

from console import static_files
from tests.test_layers import ROOT

SOURCE = ROOT / "static"
# Asked for by pages of their own.
ALONE = {"js": {"early.js", "signin.js", "away.js"}, "css": set()}


@pytest.fixture
def collected(own_home, settings):
    settings.STATIC_ROOT = own_home / "static" / "0123456789ab"
    static_files.collect()
    return settings.STATIC_ROOT


def write(folder, **texts):
    for name, text in texts.items():
        (folder / f"{name}.js").write_text(text)
    return folder / "planside.js"


@pytest.mark.parametrize("kind", ["css", "js"])
def test_a_page_gets_one_style_sheet_and_one_script_of_all_the_components(collected, kind):
    names = {path.name for path in (collected / kind).iterdir()}
    assert {name for name in names if not name.endswith(".gz")} == {f"planside.{kind}"} | ALONE[
        kind
    ]


@pytest.mark.parametrize("kind", ["css", "js"])
def test_no_component_is_forgotten(kind):
    write = {"css": static_files.style_sheet, "js": static_files.script}[kind]
    _, joined = write(SOURCE / kind / f"planside.{kind}")
    there = {path.name for path in (SOURCE / kind).iterdir()}
    assert there - joined - {f"planside.{kind}"} == ALONE[kind]


def test_the_style_sheet_says_what_its_components_say_in_their_order(collected):
    joined = (collected / "css" / "planside.css").read_text()
    assert "@import" not in joined and "/*" not in joined
    places = [joined.index(rule) for rule in ("@layer reset,", "--canvas:", "@layer states{")]
    assert places == sorted(places)


def test_a_style_sheet_is_sent_without_the_spaces_that_say_nothing(tmp_path):
    (tmp_path / "planside.css").write_text('@import "one.css";\n')
    (tmp_path / "one.css").write_text(
        "@media (max-width: 820px) {\n  a :hover, b:is(c, d) > e {\n"
        '    content: "{ a: b; }  c";\n    width: calc(100% + 2 * 4px);\n  }\n}\n'
    )
    assert static_files.style_sheet(tmp_path / "planside.css")[0] == (
        '@media (max-width:820px){a :hover,b:is(c,d)>e{content:"{ a: b; }  c";'
        "width:calc(100% + 2 * 4px);}}"
    )


def test_each_module_comes_once_and_after_those_that_it_needs(collected):
    joined = (collected / "js" / "planside.js").read_text()
    names = re.findall(r'^\$module\("(\w+)"', joined, re.M)
    assert len(names) == len(set(names))
    for name in set(names) - {"planside"}:
        text = (SOURCE / "js" / f"{name}.js").read_text()
        for needed in re.findall(r'from "\./(\w+)\.js"', text):
            assert names.index(needed) < names.index(name)


def test_modules_become_functions(tmp_path):
    entry = write(
        tmp_path,
        planside='// All.\nimport "./b.js";\n',
        a="/** One. */\nexport const one = 1;\nexport async function two() {}\n",
        b='import { one as first, two } from "./a.js";\ntwo(first);\n',
    )
    text, joined = static_files.script(entry)
    assert joined == {"a.js", "b.js", "planside.js"}
    assert text.removeprefix(static_files.JS_MODULES) == (
        '$module("a", () => {\nconst one = 1;\nasync function two() {}\nreturn { one, two };\n});\n'
        '$module("b", () => {\nconst { one: first, two } = $exports.a;\ntwo(first);\nreturn {  };\n});\n'
        '$module("planside", () => {\nreturn {  };\n});\n'
    )


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("export let count = 0;\n", "export let"),
        ("export { x };\n", "export {"),
        ('import x from "./b.js";\n', "import x"),
        ('import { x } from "./planside.js";\n', "circle"),
    ],
)
def test_what_cannot_be_said_in_a_function_is_refused(tmp_path, text, why):
    entry = write(tmp_path, planside='import "./a.js";\n', a=text)
    with pytest.raises(ValueError, match=why):
        static_files.script(entry)


def test_no_text_over_several_lines_is_taken_for_a_comment():
    for path in (SOURCE / "js").glob("*.js"):
        text = path.read_text()
        for found in static_files.JS_COMMENT.finditer(text):
            code = static_files.JS_COMMENT.sub("", text[: found.start()])
            assert code.count("`") % 2 == 0, (path.name, found[0])


def test_what_was_collected_is_not_collected_again(collected):
    (collected / "js" / "planside.js").write_text("kept")
    static_files.collect()
    assert (collected / "js" / "planside.js").read_text() == "kept"
    assert [path.name for path in collected.parent.iterdir()] == [collected.name]


@pytest.mark.django_db  # a response that is closed lets go of connections
def test_what_another_version_has_collected_is_served_for_a_year(own_home):
    serve = static_files.StaticFiles(lambda request: HttpResponse(status=404))
    old = own_home / "static" / "ba9876543210" / "js" / "planside.js"

    def asked(path):
        return serve(RequestFactory().get(path))

    assert asked("/static/ba9876543210/js/planside.js").status_code == 404
    old.parent.mkdir(parents=True)
    old.write_text("// of another version")
    answer = asked("/static/ba9876543210/js/planside.js")
    assert b"".join(answer) == b"// of another version"
    assert answer.headers["Cache-Control"] == "max-age=31536000, public, immutable"
    answer.close()
    assert asked("/static/ba9876543210/../../secret.key").status_code == 404


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


@pytest.mark.django_db
def test_every_page_asks_for_the_same_few_files(alice):
    page = alice.get("/settings/agents/").content.decode()
    asked = re.findall(r'(?:src|href)="(/static/[^"]+)"', page)
    assert sorted(path.removeprefix(settings.STATIC_URL) for path in asked) == [
        "css/planside.css",
        "icon.svg",
        "js/early.js",
        "js/planside.js",
        "vendor/htmx-4.0.1/htmx-with-ws.min.js",
        "vendor/inter-4.1/latin.woff2",
    ]
