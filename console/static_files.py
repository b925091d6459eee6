"""Style sheets, scripts and fonts as a browser gets them: in few files, each kept for a year.

What is edited stays apart, a file for each component. `css/planside.css` and `js/planside.js` name
those of every page in their order; at a start they become one file each. So does what only some
pages need, PAGE_SHEETS and PAGE_SCRIPTS, and what comes when it is first used: each script that
another one names as `import("./name.js")`. The address of every file holds a fingerprint of all of
them (settings.STATIC_URL), so what is at an address never changes.
"""

from __future__ import annotations

import re
import shutil
from base64 import b64encode
from collections import Counter
from collections.abc import Callable
from functools import cache
from hashlib import sha256
from pathlib import Path
from tempfile import TemporaryDirectory

from django.conf import settings
from django.http import HttpRequest
from django.http.response import HttpResponseBase
from filelock import FileLock
from whitenoise.compress import Compressor
from whitenoise.middleware import WhiteNoiseMiddleware

# Named by the templates of those pages, behind what every page has; the last by the files panel.
PAGE_SHEETS = ("pages", "workspace")
PAGE_SCRIPTS = ("settings", "changes")
EARLY = "js/early.js"  # in the page itself

VERSION = re.compile(r"/static/([0-9a-f]{12})/")

CSS_IMPORT = re.compile(r'^@import "(?P<name>[\w-]+)\.css";\n', re.M)
CSS_COMMENT = re.compile(r"/\*.*?\*/\n?", re.S)
# Spaces between the signs of a rule; a string and what a selector means by a space stay.
CSS_SPACES = re.compile(r"""("[^"\n]*"|'[^'\n]*')|\s*([{};,>])\s*|(:)[ ]+|\s+""")
JS_INDENTATION = re.compile(r"^ +", re.M)
JS_IMPORT = re.compile(r'^import (?:\{(?P<names>[^}]*)\} from )?"\./(?P<name>\w+)\.js";\n', re.M)
JS_PART = re.compile(r'\bimport\("\./(\w+)\.js"\)')
JS_EXPORT = re.compile(r"^export (?=(?:const|class|(?:async )?function) (\w+))", re.M)
JS_COMMENT = re.compile(r"^ *(?://[^\n]*|/\*(?:[^*]|\*(?!/))*\*/)\n", re.M)
JS_OTHER = re.compile(r"^(?:import|export)\b.*", re.M)
# As with scripts of their own, one that breaks leaves those alone that do not need it.
JS_MODULES = """const $exports = {};
function $module(name, read) {
  try {
    $exports[name] = read();
  } catch (error) {
    reportError(error);
  }
}
"""
CORE = "planside"  # the sheet and the script of every page
JS_TO_PARTS = "export { $exports, $module };\n"
JS_OF_CORE = 'import { $exports, $module } from "./planside.js";\n'


class StaticFiles(WhiteNoiseMiddleware):  # type: ignore[misc]
    """Serves what was collected, also by other versions that serve the same home meanwhile.

    Behind a proxy a page that one version has drawn may ask another one for its files.
    """

    FOREVER = 60 * 60 * 24 * 365

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        super().__init__(get_response)
        self.versions: set[str] = set()

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        if request.path_info not in self.files and (found := VERSION.match(request.path_info)):
            self.add_version(found[1])
        response: HttpResponseBase = super().__call__(request)
        return response

    def add_version(self, version: str) -> None:
        folder = Path(settings.PLANSIDE_HOME) / "static" / version
        if version not in self.versions and folder.is_dir():
            self.versions.add(version)
            self.add_files(str(folder), prefix=f"/static/{version}/")

    def immutable_file_test(self, path: str, url: str) -> bool:
        return True


@cache
def early_script() -> str:
    """What stands in each page itself, so that nothing is asked for before it."""
    return shortened((Path(settings.STATICFILES_DIRS[0]) / EARLY).read_text())


@cache
def early_script_hash() -> str:
    """As a policy names it (Content-Security-Policy)."""
    return f"'sha256-{b64encode(sha256(early_script().encode()).digest()).decode()}'"


def collect() -> None:
    """Fill settings.STATIC_ROOT, once for each content.

    It appears whole or not at all; servers that share a home wait for each other.
    """
    root = Path(settings.STATIC_ROOT)
    if root.is_dir():
        return
    root.parent.mkdir(mode=0o700, exist_ok=True)
    with (
        FileLock(Path(settings.PLANSIDE_HOME) / ".static.lock"),
        TemporaryDirectory(dir=root.parent, prefix=".") as folder,
    ):
        if root.is_dir():
            return
        draft = Path(folder) / root.name
        fill(draft)
        draft.rename(root)


def fill(folder: Path) -> None:
    copy(Path(settings.STATICFILES_DIRS[0]), folder)
    (folder / EARLY).unlink()
    join(folder / "css", style_sheets(folder / "css"))
    join(folder / "js", scripts(folder / "js"))
    compress(folder)


def copy(source: Path, target: Path) -> None:
    for path in files_in(source):
        place = target / path.relative_to(source)
        place.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(path, place)


def files_in(folder: Path) -> list[Path]:
    return [path for path in folder.rglob("*") if path.is_file()]


def join(folder: Path, joined: dict[str, tuple[str, set[str]]]) -> None:
    """Write each file, and take those away that are in one."""
    inside: set[str] = set().union(*(names for _, names in joined.values()))
    for name in inside - set(joined):
        (folder / name).unlink()
    for name, (text, _) in joined.items():
        (folder / name).write_text(text)


def compress(folder: Path) -> None:
    """Each file gets a compressed twin, once instead of at every request."""
    compressor = Compressor(quiet=True)
    for path in files_in(folder):
        if compressor.should_compress(path.name):
            for _ in compressor.compress(str(path)):
                pass


def style_sheets(folder: Path) -> dict[str, tuple[str, set[str]]]:
    """By name, each with the names of the files that are in it."""
    return {f"{name}.css": style_sheet(folder / f"{name}.css") for name in (CORE, *PAGE_SHEETS)}


def style_sheet(entry: Path) -> tuple[str, set[str]]:
    """One style sheet, and the names of the files that are in it."""
    joined = set()

    def content(found: re.Match[str]) -> str:
        name = f"{found['name']}.css"
        joined.add(name)
        return entry.with_name(name).read_text()

    text = CSS_COMMENT.sub("", CSS_IMPORT.sub(content, entry.read_text()))
    return CSS_SPACES.sub(lambda found: found[1] or found[2] or found[3] or " ", text), joined


def scripts(folder: Path, pages: tuple[str, ...] = PAGE_SCRIPTS) -> dict[str, tuple[str, set[str]]]:
    """By name: the script of every page and those that come later, each with the names of the files
    that are in it. What two of the later ones need comes with every page.
    """
    texts = {path.stem: path.read_text() for path in folder.glob("*.js")}
    parts = {name for text in texts.values() for name in JS_PART.findall(text)}
    later = {name: needed(texts, name) for name in sorted(parts.union(pages))}
    counted = Counter(name for names in later.values() for name in names)
    shared = [name for name, count in counted.items() if count > 1]
    first = [*dict.fromkeys([*needed(texts, CORE), *shared])]
    text = script(texts, first, before=JS_MODULES, after=JS_TO_PARTS)
    found = {f"{CORE}.js": (text, as_files(first))}
    for name, names in later.items():
        own = [each for each in names if each not in first]
        text = script(texts, own, before=JS_OF_CORE, after=exports(name, texts[name]))
        found[f"{name}.js"] = text, as_files(own)
    return found


def as_files(names: list[str]) -> set[str]:
    return {f"{name}.js" for name in names}


def script(texts: dict[str, str], names: list[str], before: str, after: str) -> str:
    """One script, in which each module is a function."""
    return before + "".join(as_function(name, texts[name]) for name in names) + after


def exports(name: str, text: str) -> str:
    """What `await import("./name.js")` gives."""
    exported = ", ".join(JS_EXPORT.findall(text))
    return f"export const {{ {exported} }} = $exports.{name};\n" if exported else ""


def needed(texts: dict[str, str], name: str, needed_by: tuple[str, ...] = ()) -> list[str]:
    """The module and all that it imports, each behind what it needs itself."""
    if name in needed_by:
        raise ValueError(f"Scripts import each other in a circle: {', '.join(needed_by)}.")
    found = JS_IMPORT.finditer(texts[name])
    before = [needed(texts, each["name"], (*needed_by, name)) for each in found]
    return list(dict.fromkeys([*(each for names in before for each in names), name]))


def shortened(text: str) -> str:
    """Without comments and indentation."""
    return JS_INDENTATION.sub("", JS_COMMENT.sub("", text))


def as_function(name: str, text: str) -> str:
    """A module as a function that takes what others export and returns what it exports."""
    exported = JS_EXPORT.findall(text)
    if any(line.count("`") % 2 for line in JS_COMMENT.sub("", text).splitlines()):
        raise ValueError(f"js/{name}.js has a template literal over several lines.")
    body = JS_EXPORT.sub("", JS_IMPORT.sub(taken, shortened(text)))
    if other := JS_OTHER.search(body):
        raise ValueError(f"js/{name}.js cannot be joined with the others: {other[0]}")
    return f'$module("{name}", () => {{\n{body}return {{ {", ".join(exported)} }};\n}});\n'


def taken(found: re.Match[str]) -> str:
    """`import { a as b } from "./c.js";`, between the functions of one script."""
    names = (found["names"] or "").replace(" as ", ": ")
    return f"const {{{names}}} = $exports.{found['name']};\n" if names else ""
