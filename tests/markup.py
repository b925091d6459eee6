"""HTML for tests that look for a piece of it: how a template is broken into lines says nothing."""

import re


def html(response):
    return flat(response.content.decode())


def flat(html):
    """With no white space beside tags but where it parts words; a text keeps its line breaks."""
    html = re.sub(
        r"<[^<>]*>", lambda tag: re.sub(r" (/?>)$", r"\1", " ".join(tag[0].split())), html
    )
    html = re.sub(r">\s+(?=<)", ">", html)
    html = re.sub(r"(<[a-z][^<>]*>|</svg>)\s+", r"\1", html)
    html = re.sub(r"\s* (?=</)", "", html)
    return re.sub(r"(\n +)+", " ", html)
