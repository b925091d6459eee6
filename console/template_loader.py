"""Templates as they are sent: with one space of the indentation that they are written with."""

import re

from django.template import Origin
from django.template.loaders.filesystem import Loader as FilesystemLoader

INDENTATION = re.compile(r"\n[ \t]+")


class Loader(FilesystemLoader):
    """What keeps its spaces on the page stands on one line of its template."""

    def get_contents(self, origin: Origin) -> str:
        return INDENTATION.sub("\n ", super().get_contents(origin))
