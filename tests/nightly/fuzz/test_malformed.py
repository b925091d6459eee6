"""What cannot be read is refused in a sentence, and leaves no traceback in the log."""

import socket
import time
from urllib.parse import urlsplit

import httpx
import pytest

from tests.console.serving import Started
from tests.patience import at_most

FORM = "application/x-www-form-urlencoded"
PARTS = "multipart/form-data; boundary=x"
FIELD = b'--x\r\nContent-Disposition: form-data; name="text"\r\n'
CHARSETS = [
    "punycode", "undefined", "idna", "utf-7", "hex", "zlib", "unicode_escape", "utf-16", "latin-1",
    "nonsense", "x" * 3_000, "'\"", "..",
]  # fmt: skip


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    """At its end the log is looked at: refusals are a line each, or nothing."""
    started = Started(tmp_path_factory.mktemp("home"))
    yield started
    _, code, _, err = started.end()
    assert code == 0 and "Traceback" not in err, err
    assert all(line[2] == ":" for line in err.splitlines()), err


@pytest.fixture(scope="module")
def headers(server):
    with httpx.Client(base_url=server.address, follow_redirects=True) as browser:
        browser.get(server.link)
        cookies = "; ".join(f"{name}={value}" for name, value in browser.cookies.items())
        return {"Cookie": cookies, "X-CSRFToken": browser.cookies["csrftoken"]}


PATHS = ["/signin/", "/c/1/say", "/settings/models/add", "/api/conversations"]

BODIES = [
    ("multipart/form-data", b"x"),
    ("multipart/form-data; boundary=", b"x"),
    ("multipart/form-data; boundary=" + "y" * 300, b"x"),
    ("multipart/form-data; boundary*=nonsense''%ff", b"x"),
    ("multipart/mixed; boundary=x", b"x"),
    ("text/plain; charset*=nonsense''%ff", b"x"),
    (PARTS, FIELD + b"\r\nhi"),
    (PARTS, b"--x\r\n" * 3_000),
    (PARTS, (FIELD + b"\r\n1\r\n") * 1_500 + b"--x--"),
    (PARTS, FIELD[:-2] + b'; filename="b"\r\n\r\n1\r\n' + b"--x--"),
    (PARTS, (FIELD[:-2] + b'; filename="b"\r\n\r\n1\r\n') * 150 + b"--x--"),
    (PARTS, FIELD.replace(b"name=", b"name*=nonsense''%ff; a=") + b"\r\nhi\r\n--x--\r\n"),
    (PARTS, FIELD + b"Content-Transfer-Encoding: base64\r\n\r\n!!!\r\n--x--\r\n"),
    (FORM, b"a=1&" * 5_000),
    (FORM, b"text=\xff\xfe&=%ff&%"),
    (FORM, b"\0" * 50),
    ("application/json", b"\xff"),
    ("application/json", b"[" * 100_000),
    ("application/json", b'{"agent":"\\ud800"}'),
    ("application/json", b'{"agent":' + b"9" * 5_000 + b"}"),
    (";", b"x"),
]


def is_plain(answer):
    """A refusal of ours, not a page that broke; the API says it in its own shape."""
    if answer.status_code >= 500:
        return False
    if answer.request.url.path.startswith("/api/") and answer.is_error:
        return answer.json()["detail"].endswith(".")
    return answer.status_code != 400 or len(answer.text) < 200 or "</html>" in answer.text


@pytest.mark.parametrize("path", PATHS)
def test_bodies_that_make_no_sense_are_refused_in_words(server, headers, path):
    with httpx.Client(base_url=server.address, headers=headers) as browser:
        for kind, body in BODIES:
            answer = browser.post(path, content=body, headers={"Content-Type": kind})
            assert is_plain(answer), (kind, body[:60], answer.text)


@pytest.mark.parametrize("path", PATHS[:3])
def test_a_forms_charset_is_utf_8_or_refused(server, headers, path):
    parts = FIELD + b"\r\n" + b"a-" * 500_000 + b"\r\n--x--\r\n"
    with httpx.Client(base_url=server.address, headers=headers) as browser:
        for charset in CHARSETS:
            for kind, body in ((PARTS, parts), (FORM, b"text=a%ff")):
                asked = {"Content-Type": f"{kind}; charset={charset}"}
                began = time.monotonic()
                answer = browser.post(path, content=body, headers=asked)
                assert is_plain(answer) and time.monotonic() - began < at_most(5), (kind, charset)
    known = {"Content-Type": f"{PARTS}; charset=punycode"}
    refusal = httpx.post(server.address + path, content=parts, headers=headers | known)
    assert (refusal.status_code, refusal.text) == (415, "Forms are read in UTF-8.")


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("Daphne-Root-Path", "\xff"),
        ("Cookie", "\xff=\xff; sessionid=\xff"),
        ("Cookie", "sessionid=" + "x" * 5_000),
        ("Cookie", ';;;=; csrftoken=a"b; sessionid="\\777"'),
        ("Referer", "http://[::"),
        ("Origin", "http://["),
        ("Host", "\xff"),
        ("Host", "evil.example"),
        ("Host", "["),
        ("Authorization", "Bearer \xff"),
        ("If-Match", "\xff"),
        ("HX-Current-URL", "\xff"),
        ("Content-Encoding", "gzip"),
    ],
)
def test_header_fields_that_make_no_sense_are_refused_in_words(server, headers, name, value):
    asked = headers | {"Content-Type": FORM, name: value.encode("latin-1")}
    with httpx.Client(base_url=server.address) as browser:
        for path in ("/signin/", "/api/conversations"):
            assert is_plain(browser.get(path, headers=asked))
            assert is_plain(browser.post(path, headers=asked, content=b"a=b"))


def test_nobody_says_below_which_path_the_server_lies(server):
    elsewhere = {"Daphne-Root-Path": "//evil.example"}
    assert "evil" not in httpx.get(server.address + "/signin/", headers=elsewhere).text


@pytest.mark.parametrize(
    "fields",
    [
        *(f"Content-Length: {value}" for value in ("-1", "abc", "1e5", "+5", "5, 6", "", "9" * 30)),
        "Content-Length: 3\r\nContent-Length: 5",
        "Content-Length: 3\r\nTransfer-Encoding: chunked",
        "Transfer-Encoding: gzip",
        "Transfer-Encoding: chunked, chunked",
    ],
)
def test_a_length_that_makes_no_sense_is_refused_at_once(server, fields):
    url = urlsplit(server.address)
    with socket.create_connection((url.hostname, url.port), timeout=10) as connection:
        head = f"POST /signin/ HTTP/1.1\r\nHost: {url.netloc}\r\n{fields}\r\n\r\n"
        connection.sendall(head.encode() + b"0\r\n\r\n")
        assert connection.recv(100).split()[1] in (b"400", b"413")
