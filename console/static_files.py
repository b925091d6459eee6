"""Style sheets, scripts and fonts as a browser gets them: in few files, each kept for a year.

What is edited stays apart, a file for each component. `css/planside.css` and `js/planside.js` name
them in their order; at a start they become one file each. The address of every file holds a
fingerprint of all of them (settings.STATIC_URL), so what is at an address never changes.
"""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory

from django.conf import settings
from django.http import HttpRequest
from django.http.response import HttpResponseBase
from filelock import FileLock
from whitenoise.compress import Compressor
from whitenoise.middleware import WhiteNoiseMiddleware

VERSION = re.compile(r"/static/([0-9a-f]{12})/")

CSS_IMPORT = re.compile(r'^@import "(?P<name>[\w-]+)\.css";\n', re.M)
CSS_COMMENT = re.compile(r"/\*.*?\*/\n?", re.S)
# Spaces between the signs of a rule; a string and what a selector means by a space stay.
CSS_SPACES = re.compile(r"""("[^"\n]*"|'[^'\n]*')|\s*([{};,>])\s*|(:)[ ]+|\s+""")
JS_INDENTATION = re.compile(r"^ +", re.M)
JS_IMPORT = re.compile(r'^import (?:\{(?P<names>[^}]*)\} from )?"\./(?P<name>\w+)\.js";\n', re.M)
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
        copy(Path(settings.STATICFILES_DIRS[0]), draft)
        join(draft / "css" / "planside.css", style_sheet)
        join(draft / "js" / "planside.js", script)
        compress(draft)
        draft.rename(root)


def copy(source: Path, target: Path) -> None:
    for path in files_in(source):
        place = target / path.relative_to(source)
        place.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(path, place)


def files_in(folder: Path) -> list[Path]:
    return [path for path in folder.rglob("*") if path.is_file()]


def join(entry: Path, write: Callable[[Path], tuple[str, set[str]]]) -> None:
    """Put what the entry names into it, and take the single files away."""
    text, joined = write(entry)
    entry.write_text(text)
    for name in joined - {entry.name}:
        entry.with_name(name).unlink()


def compress(folder: Path) -> None:
    """Each file gets a compressed twin, once instead of at every request."""
    compressor = Compressor(quiet=True)
    for path in files_in(folder):
        if compressor.should_compress(path.name):
            for _ in compressor.compress(str(path)):
                pass


def style_sheet(entry: Path) -> tuple[str, set[str]]:
    """One style sheet, and the names of the files that are in it."""
    joined = set()

    def content(found: re.Match[str]) -> str:
        name = f"{found['name']}.css"
        joined.add(name)
        return entry.with_name(name).read_text()

    text = CSS_COMMENT.sub("", CSS_IMPORT.sub(content, entry.read_text()))
    return CSS_SPACES.sub(lambda found: found[1] or found[2] or found[3] or " ", text), joined


def script(entry: Path) -> tuple[str, set[str]]:
    """One script, in which each module is a function, and the names of the files that are in it."""
    written: dict[str, str] = {}

    def add(name: str, needed_by: tuple[str, ...] = ()) -> None:
        if name in needed_by:
            raise ValueError(f"Scripts import each other in a circle: {', '.join(needed_by)}.")
        if name not in written:
            text = entry.with_name(f"{name}.js").read_text()
            for found in JS_IMPORT.finditer(text):
                add(found["name"], (*needed_by, name))
            written[name] = as_function(name, text)

    add(entry.stem)
    return JS_MODULES + "".join(written.values()), {f"{name}.js" for name in written}


def as_function(name: str, text: str) -> str:
    """A module as a function that takes what others export and returns what it exports."""
    exported = JS_EXPORT.findall(text)
    body = JS_EXPORT.sub("", JS_IMPORT.sub(taken, JS_COMMENT.sub("", text)))
    if any(line.count("`") % 2 for line in body.splitlines()):
        raise ValueError(f"js/{name}.js has a template literal over several lines.")
    body = JS_INDENTATION.sub("", body)
    if other := JS_OTHER.search(body):
        raise ValueError(f"js/{name}.js cannot be joined with the others: {other[0]}")
    return f'$module("{name}", () => {{\n{body}return {{ {", ".join(exported)} }};\n}});\n'


def taken(found: re.Match[str]) -> str:
    """`import { a as b } from "./c.js";`, between the functions of one script."""
    names = (found["names"] or "").replace(" as ", ": ")
    return f"const {{{names}}} = $exports.{found['name']};\n" if names else ""
