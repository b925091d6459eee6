"""Style sheets, scripts and fonts: few files, each at an address whose content never changes."""

import re
from base64 import b64encode
from hashlib import sha256

import pytest
from django.conf import settings
from django.http import HttpResponse
from django.test import RequestFactory

from console import static_files
from tests.benchmarks.weight import named_in
from tests.lint.test_layers import ROOT
from tests.world import conversation

SOURCE = ROOT / "static"
# Asked for by pages of their own, and what stands in each page itself.
ALONE = {"signin.js", "away.js", "early.js", "lint.js"}
PARTS = {
    "attachments.js",
    "changes.js",
    "editing.js",
    "model_picker.js",
    "palette.js",
    "workspace.js",
    "settings.js",
}


@pytest.fixture
def collected(own_home, settings):
    settings.STATIC_ROOT = own_home / "static" / "0123456789ab"
    static_files.collect()
    return settings.STATIC_ROOT


def write(folder, **texts):
    for name, text in texts.items():
        (folder / f"{name}.js").write_text(text)


def names_in(folder):
    return {path.name for path in folder.iterdir() if not path.name.endswith(".gz")}


def test_what_is_edited_apart_is_sent_in_few_files(collected):
    assert names_in(collected / "css") == {"planside.css", "pages.css", "workspace.css"}
    assert names_in(collected / "js") == {"planside.js", *PARTS, *ALONE - {"early.js"}}


def test_no_component_is_forgotten():
    sheets = static_files.style_sheets(SOURCE / "css")
    scripts = static_files.scripts(SOURCE / "js")
    for folder, joined, alone in (("css", sheets, set()), ("js", scripts, ALONE)):
        inside = set(joined).union(*(names for _, names in joined.values()))
        assert names_in(SOURCE / folder) - inside == alone


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


def test_what_a_style_sheet_names_by_its_id_is_on_some_page():
    sources = (*(ROOT / "templates").rglob("*.html"), *(SOURCE / "js").glob("*.js"))
    text = "".join(each.read_text() for each in sources)
    known = set(re.findall(r"""\bid(?:=|: | = )"([\w-]+)""", text))
    for sheet in (SOURCE / "css").glob("*.css"):
        selectors = re.findall(r"[^{};]+(?={)", re.sub(r'"[^"]*"', "", sheet.read_text()))
        named = {each for one in selectors for each in re.findall(r"#([a-z][\w-]*)", one)}
        assert named <= known, sheet.name


def test_each_module_comes_once_and_after_those_that_it_needs(collected):
    joined = (collected / "js" / "planside.js").read_text()
    names = re.findall(r'^\$module\("(\w+)"', joined, re.M)
    assert len(names) == len(set(names)) > 30
    for name in set(names) - {"planside"}:
        text = (SOURCE / "js" / f"{name}.js").read_text()
        for needed in re.findall(r'from "\./(\w+)\.js"', text):
            assert names.index(needed) < names.index(name)


def test_modules_become_functions(tmp_path):
    write(
        tmp_path,
        planside='// All.\nimport "./b.js";\n',
        a="/** One. */\nexport const one = 1;\nexport async function two() {}\n",
        b='import { one as first, two } from "./a.js";\ntwo(first);\n',
    )
    text, joined = static_files.scripts(tmp_path, pages=())["planside.js"]
    assert joined == {"a.js", "b.js", "planside.js"}
    assert text == (
        static_files.JS_MODULES
        + '$module("a", () => {\nconst one = 1;\nasync function two() {}\nreturn { one, two };\n});\n'
        '$module("b", () => {\nconst { one: first, two } = $exports.a;\ntwo(first);\nreturn {  };\n});\n'
        '$module("planside", () => {\nreturn {  };\n});\n'
        "export { $exports, $module };\n"
    )


def test_what_is_imported_when_it_is_used_is_a_file_with_what_only_it_needs(tmp_path):
    write(
        tmp_path,
        planside='import "./a.js";\nconst later = () => [import("./c.js"), import("./d.js")];\n',
        a="export const one = 1;\n",
        b="export const of_both = 2;\n",
        own="export const own = 3;\n",
        c='import "./a.js";\nimport "./b.js";\nimport "./own.js";\nexport function start() {}\n',
        d='import "./b.js";\n',
    )
    found = static_files.scripts(tmp_path, pages=())
    assert {name: modules for name, (_, modules) in found.items()} == {
        "planside.js": {"planside.js", "a.js", "b.js"},
        "c.js": {"own.js", "c.js"},
        "d.js": {"d.js"},
    }
    text, _ = found["c.js"]
    assert text.startswith('import { $exports, $module } from "./planside.js";\n$module("own"')
    assert text.endswith("export const { start } = $exports.c;\n")


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
    write(tmp_path, planside='import "./a.js";\n', a=text)
    with pytest.raises(ValueError, match=why):
        static_files.scripts(tmp_path, pages=())


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


EVERY_PAGE = [
    "css/planside.css",
    "icon.svg",
    "icons.svg",
    "js/planside.js",
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
    assert asked == sorted([*EVERY_PAGE, *more])


@pytest.mark.django_db
def test_the_first_script_stands_in_the_page_and_the_policy_names_it(alice):
    answer = alice.get("/plans/")
    written = re.search(r"<script>(.+?)</script>", answer.content.decode(), re.S)[1]
    digest = b64encode(sha256(written.encode()).digest()).decode()
    policy = answer.headers["Content-Security-Policy"]
    assert f"script-src 'self' 'sha256-{digest}'; " in policy
    assert "unsafe" not in policy
