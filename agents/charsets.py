"""What bytes of a service mean as text, whatever the service says about them.

A charset is believed if it is one of a few that are decoded in one pass; everything else is read
as UTF-8. Python also knows codecs that take quadratic time (punycode), that are no character sets
(hex, zlib) or that always fail (undefined), and httpx asks for any of them by name. So a service's
word never reaches Python's registry of codecs, nor `charset_encoding` or `text` of httpx.
"""

from __future__ import annotations

import codecs
import re
from functools import cache

LONGEST_CONTENT_TYPE = 500  # characters that are looked at
CHARSET = re.compile(r';\s*charset\s*=\s*"?([a-z0-9_.:-]{1,30})(?![a-z0-9_.:-])', re.IGNORECASE)

MULTIBYTE = {
    "utf-16": "utf-16", "utf-16le": "utf-16-le", "utf-16be": "utf-16-be",
    "gb2312": "gb18030", "gbk": "gb18030", "gb18030": "gb18030", "big5": "big5hkscs",
    "shift_jis": "cp932", "euc-jp": "euc-jp", "euc-kr": "cp949",
}  # fmt: skip
SINGLE_BYTE = {
    "iso-8859-1": "cp1252", "latin1": "cp1252",  # as browsers read them
    **{f"iso-8859-{n}": f"iso8859-{n}" for n in (2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 13, 14, 15, 16)},
    **{f"windows-{n}": f"cp{n}" for n in range(1250, 1259)},
    "koi8-r": "koi8-r", "koi8-u": "koi8-u", "macintosh": "mac-roman",
}  # fmt: skip


def decoded(body: bytes, content_type: str) -> str:
    """The text, with U+FFFD for what cannot be read; never raises."""
    charset = charset_of(content_type)
    if charset in SINGLE_BYTE:
        return codecs.charmap_decode(body, "strict", table(SINGLE_BYTE[charset]))[0]
    return body.decode(MULTIBYTE.get(charset, "utf-8"), errors="replace")


def charset_of(content_type: str) -> str:
    found = CHARSET.search(content_type[:LONGEST_CONTENT_TYPE])
    return found[1].lower() if found else ""


@cache
def table(codec: str) -> str:
    """What each byte means, without gaps: an error handler per byte takes 250 ms a megabyte."""
    return bytes(range(256)).decode(codec, errors="replace")
