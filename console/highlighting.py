"""Code in colour, for the languages whose lexers were measured to take time in proportion."""

from __future__ import annotations

import re

from pygments import highlight
from pygments.formatters import HtmlFormatter
from pygments.lexers import get_lexer_by_name

LONGEST_CODE = 8_000  # characters; what is longer is shown plain
LONGEST_LINE = 200  # lexers that are linear in lines may be quadratic in one
MOST_COMMENTS = 100  # each that is never closed is searched for its end
LONGEST_GAP = re.compile(r"\s{100}")  # or in white space

# What people write behind the fence, and the lexer for it. Of texts of 8,000 characters that were
# made to be slow, none took these more than 0.1 s; apacheconf, make, csharp and java are left out.
LANGUAGES = {
    **dict.fromkeys(("bash", "sh", "shell", "zsh"), "bash"),
    **dict.fromkeys(("c", "h"), "c"),
    "css": "css",
    **dict.fromkeys(("diff", "patch"), "diff"),
    **dict.fromkeys(("go", "golang"), "go"),
    **dict.fromkeys(("javascript", "js", "mjs"), "javascript"),
    **dict.fromkeys(("json", "jsonc", "json5"), "json"),
    "php": "php",
    **dict.fromkeys(("python", "py", "python3"), "python"),
    **dict.fromkeys(("rust", "rs"), "rust"),
    "sql": "sql",
    "toml": "toml",
    **dict.fromkeys(("typescript", "ts"), "typescript"),
    **dict.fromkeys(("yaml", "yml"), "yaml"),
}


def coloured(code: str, language: str) -> str:
    """Spans with classes, or nothing where the code stays plain."""
    lexer = LANGUAGES.get(language.lower())
    if lexer is None or not is_short(code):
        return ""
    return highlight(code, get_lexer_by_name(lexer), HtmlFormatter(nowrap=True))


def is_short(code: str) -> bool:
    if len(code) > LONGEST_CODE or code.count("/*") > MOST_COMMENTS or LONGEST_GAP.search(code):
        return False
    return all(len(line) <= LONGEST_LINE for line in code.split("\n"))
