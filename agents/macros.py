"""The syntax of macros in texts that people configure: `{{var:model}}`, `{{.title}}` …"""

from __future__ import annotations

import re

# Linear: what a macro says begins and ends with no space.
MACRO = re.compile(r"\{\{\s*([^{}\s](?:[^{}]*[^{}\s])?)\s*\}\}")


def macros_in(text: str) -> list[str]:
    return [match.group(1) for match in MACRO.finditer(text)]
