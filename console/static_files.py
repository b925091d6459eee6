"""Static files: collected once for each version, under names that hold a hash of their content."""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from django.conf import settings
from django.contrib.staticfiles.management.commands.collectstatic import Command
from django.core.management import call_command
from django.http import HttpRequest
from django.http.response import HttpResponseBase
from filelock import FileLock
from whitenoise.middleware import WhiteNoiseMiddleware
from whitenoise.storage import CompressedManifestStaticFilesStorage

CSS_IMPORT = re.compile(r'^@import "([\w-]+\.css)";\n', re.M)
CSS_COMMENT = re.compile(r"\s*/\*.*?\*/", re.S)


class Storage(CompressedManifestStaticFilesStorage):  # type: ignore[misc]
    """Hashed and compressed files. A style sheet holds those that it imports: a browser would paint
    60 ms later with 35 of them (docs/decisions/0004). Its comments, 5 of 30 kB, stay with us."""

    support_js_module_import_aggregation = True
    # Of this version: others may serve the same home meanwhile, from the same folder.
    manifest_name = f"{settings.FINGERPRINT}.json"

    def post_process(self, paths: dict[str, Any], **options: Any) -> Any:
        for name in [name for name in paths if name.endswith(".css")]:
            sheet = Path(self.path(name))
            sheet.write_text(joined(sheet))
            paths[name] = self, name
        yield from super().post_process(paths, **options)


def joined(sheet: Path) -> str:
    text = CSS_IMPORT.sub(lambda found: sheet.with_name(found[1]).read_text(), sheet.read_text())
    return CSS_COMMENT.sub("", text)


def collect() -> None:
    """Fill settings.STATIC_ROOT, where this version's files are not there yet.

    The manifest comes last, so it names nothing that is not there after a kill.
    """
    root = Path(settings.STATIC_ROOT)
    with FileLock(Path(settings.PLANSIDE_HOME) / ".static.lock"):
        if (root / Storage.manifest_name).exists():
            return
        for left in root.parent.glob(".static?*/"):  # by a kill
            shutil.rmtree(left)
        with TemporaryDirectory(dir=root.parent, prefix=".static") as folder:
            command = Command()
            command.storage = Storage(location=folder)
            call_command(command, interactive=False, verbosity=0)
            files = [path for path in Path(folder).rglob("*") if path.is_file()]
            for path in sorted(files, key=lambda path: path.name == Storage.manifest_name):
                place = root / path.relative_to(folder)
                place.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
                path.replace(place)


class StaticFiles(WhiteNoiseMiddleware):  # type: ignore[misc]
    """Serves also what another version on this home has collected since this process started.

    Behind a proxy its pages may ask this one.
    """

    FOREVER = 365 * 24 * 60 * 60

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        super().__init__(get_response)
        self.directories = [(f"{self.static_root}/", self.static_prefix)]

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        url = request.path_info
        is_new = url not in self.files and self.immutable_file_test("", url)
        if is_new and (file := self.find_file(url)):
            self.files[url] = file
        response: HttpResponseBase = super().__call__(request)
        return response
