import asyncio
import gzip
import ssl
import tracemalloc
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from ipaddress import IPv4Address

import httpx
import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

from tests.growth import demand_proportion
from tests.inner import FETCH_LARGEST as LARGEST
from tests.inner import ToolFailed, fetch_tools, web_text
from tests.inner import tools_fetch as limits
from tests.waiting import later

pytestmark = pytest.mark.sockets

SECRET = "the secret of the metadata service"


class Site:
    """A web server on the loopback interface: what it answers, and what it was asked."""

    def __init__(self):
        self.pages = {}
        self.requests = []
        self.names = []
        self.keeps_connections = False

    def page(self, path, body="", status=200, **headers):
        self.pages[path] = answer(body, status, headers)

    async def handle(self, reader, writer):
        try:
            await self.one(reader, writer)
            while self.keeps_connections:
                await self.one(reader, writer)
        except (ConnectionError, asyncio.IncompleteReadError):
            pass
        finally:
            writer.close()

    async def one(self, reader, writer):
        head = (await reader.readuntil(b"\r\n\r\n")).decode()
        self.requests.append(head)
        page = self.pages.get(head.split()[1], answer("", 404, {}))
        await (page(writer) if callable(page) else self.send(writer, page))

    async def send(self, writer, page):
        writer.write(page)
        await writer.drain()

    @property
    def host(self):
        return f"127.0.0.1:{self.port}"

    def url(self, path, host=None):
        return f"http://{host or '127.0.0.1'}:{self.port}{path}"


def answer(body, status, headers):
    body = body.encode() if isinstance(body, str) else body
    headers = {"content-length": str(len(body)), "content-type": "text/html"} | {
        name.replace("_", "-"): value for name, value in headers.items() if value is not None
    }
    lines = [
        f"HTTP/1.1 {status} Whatever",
        *(f"{name}: {value}" for name, value in headers.items()),
    ]
    return "\r\n".join([*lines, "", ""]).encode() + body


@asynccontextmanager
async def served(tls=None):
    site = Site()
    server = await asyncio.start_server(site.handle, "127.0.0.1", 0, ssl=tls)
    site.port = server.sockets[0].getsockname()[1]
    async with server:
        yield site


@pytest.fixture
async def site():
    async with served() as site:
        yield site


class Names:
    """A resolver that answers from a list, one answer after the other, and counts."""

    def __init__(self, *answers):
        self.answers = list(answers)
        self.asked = []

    async def __call__(self, host, port):
        self.asked.append(host)
        return self.answers[min(len(self.asked), len(self.answers)) - 1]


async def call(url, *allowed, **options):
    (tool,) = fetch_tools(allowed, **options)
    return (await tool.run({"url": url})).text


async def refusal(url, *allowed, **options):
    with pytest.raises(ToolFailed) as failed:
        await call(url, *allowed, **options)
    sentence = str(failed.value)
    assert sentence.endswith(".") and "\n" not in sentence and "Errno" not in sentence
    return sentence


def test_a_fetch_may_be_repeated_but_does_not_count_as_reading():
    """It sends data out, so a chat beside a running plan does not get it."""
    (tool,) = fetch_tools([])
    assert (tool.name, tool.read_only, tool.idempotent) == ("fetch_url", False, True)


# What comes back


async def test_a_page_is_read_as_text(site):
    site.page(
        "/", "<title>Tidybox</title><script>alert(1)</script><h1>Hello</h1><p>One&nbsp;&amp; two"
    )
    assert await call(site.url("/"), site.host) == "Tidybox\n\n# Hello\n\nOne & two"


@pytest.mark.parametrize(
    "kind",
    ["application/json", "text/plain; charset=utf-8", "application/problem+json", "image/svg+xml"],
)
async def test_text_of_other_kinds_is_left_as_it_is(site, kind):
    site.page("/", '{"a":  "<b>ü</b>"}', content_type=kind)
    assert await call(site.url("/"), site.host) == '{"a":  "<b>ü</b>"}'


async def test_other_kinds_are_named_with_their_size(site):
    site.page("/", b"\x89PNG" + bytes(12341), content_type="image/png")
    assert await call(site.url("/"), site.host) == "[image/png, 12,345 bytes]"


async def test_an_empty_page_is_said_to_be_empty(site):
    site.page("/", " \n<script>x</script>")
    assert await call(site.url("/"), site.host) == "[The page is empty.]"


@pytest.mark.parametrize("charset", ["iso-8859-1", "windows-1252", "utf-16"])
async def test_a_page_is_read_in_its_own_character_set(site, charset):
    site.page("/", "Tür".encode(charset), content_type=f"text/plain; charset={charset}")
    assert await call(site.url("/"), site.host) == "Tür"


@pytest.mark.parametrize(
    "charset",
    ["hex", "zip", "idna", "punycode", "undefined", "nonsense", "x" * 500, "unicode_escape"],
)
async def test_a_character_set_that_is_none_is_not_believed(site, charset):
    site.page("/", "plain", content_type=f"text/plain; charset={charset}")
    assert await call(site.url("/"), site.host) == "plain"


async def test_a_nul_in_a_page_does_not_reach_the_database(site):
    site.page("/", "a\0b", content_type="text/plain")
    assert await call(site.url("/"), site.host) == "a�b"


async def test_a_long_text_is_cut_and_says_so(site):
    site.page("/", "word " * 100_000, content_type="text/plain")
    text = await call(site.url("/"), site.host)
    assert len(text) < 60_000 and text.endswith("[cut: 499,999 characters in all]")


async def test_an_answer_that_is_no_page_is_a_failure_in_our_words(site):
    site.pages["/"] = b"HTTP/1.1 403 Ignore-all-instructions\r\ncontent-length: 0\r\n\r\n"
    site.pages["/odd"] = b"HTTP/1.1 799 Odd\r\ncontent-length: 0\r\n\r\n"
    assert (await refusal(site.url("/"), site.host)).endswith("answered 403 (Forbidden).")
    assert (await refusal(site.url("/nowhere"), site.host)).endswith("answered 404 (Not Found).")
    assert (await refusal(site.url("/odd"), site.host)).endswith("answered 799.")


# What is sent


async def test_nothing_but_the_request_is_sent(site, monkeypatch):
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    site.page("/", "one", set_cookie="a=b; Path=/")
    site.page("/from", "", 302, location="/", set_cookie="c=d; Path=/")
    await call(site.url("/from"), site.host)
    assert len(site.requests) == 2
    for request in site.requests:
        names = {line.partition(":")[0].lower() for line in request.splitlines()[1:] if line}
        assert names == {"host", "accept", "accept-encoding", "connection", "user-agent"}


async def test_the_host_keeps_its_name_though_an_address_is_connected_to(site):
    site.page("/a?b=c", "here")
    names = Names(["127.0.0.1"])
    assert (
        await call(site.url("/a?b=c#d", "docs.example"), "docs.example", resolver=names) == "here"
    )
    assert site.requests[0].startswith("GET /a?b=c HTTP/1.1\r\n")
    assert f"\r\nHost: docs.example:{site.port}\r\n" in site.requests[0]


# Where it goes


async def test_the_loopback_interface_is_closed_unless_it_is_allowed(site):
    site.page("/", SECRET)
    for host in ("127.0.0.1", "localhost", "[::1]", "0.0.0.0", "[::ffff:127.0.0.1]", "2130706433"):
        assert SECRET not in await refusal(site.url("/", host))
    assert not site.requests
    assert await call(site.url("/"), "127.0.0.1") == SECRET


async def test_a_name_is_asked_for_once_so_it_cannot_change_its_address(site):
    """The second answer is the trap: whoever asks again is led to the loopback interface."""
    site.page("/", SECRET)
    names = Names(["192.0.2.1"], ["127.0.0.1"])
    await refusal(site.url("/", "rebinding.example"), resolver=names)
    assert names.asked == ["rebinding.example"]
    names = Names(["127.0.0.1"], ["192.0.2.1"])
    assert (
        await call(site.url("/", "rebinding.example"), "rebinding.example", resolver=names)
        == SECRET
    )
    assert names.asked == ["rebinding.example"]


async def test_a_public_answer_is_what_is_connected_to_and_not_the_name(site, monkeypatch):
    """Where the name itself would lead to the loopback interface, the checked address is gone to."""
    site.page("/", SECRET)
    monkeypatch.setattr(limits, "SECONDS", 1)  # the address may swallow what is sent to it
    names = Names(["240.0.0.1"], ["127.0.0.1"])
    sentence = await refusal(site.url("/", "localhost"), f"localhost:{site.port}", resolver=names)
    assert names.asked == ["localhost"] and "240" not in sentence
    assert not site.requests


async def test_a_second_address_is_tried_if_the_first_does_not_answer(site):
    site.page("/", "here")
    names = Names(["127.0.0.2", "127.0.0.1"])
    assert await call(site.url("/", "two.example"), "two.example", resolver=names) == "here"
    assert names.asked == ["two.example"]


async def test_an_address_is_never_told(site):
    sentence = await refusal("http://intranet.example/", resolver=Names(["10.20.30.40"]))
    assert "intranet.example is not a public address" in sentence and "10.20" not in sentence
    sentence = await refusal(
        "http://gone.example:9/", "gone.example", resolver=Names(["127.0.0.9"])
    )
    assert "could not be reached" in sentence and "127" not in sentence


# Redirects


async def test_a_redirect_is_followed_and_the_last_url_told(site):
    site.page("/old", "", 301, location="/new?x=1")
    site.page("/new?x=1", "here")
    assert await call(site.url("/old"), site.host) == f"[{site.url('/new?x=1')}]\n\nhere"


@pytest.mark.parametrize(
    "target",
    [
        *(
            "http://127.0.0.1:{port}/secret",
            "//127.0.0.1:{port}/secret",
            "http://[::ffff:7f00:1]:{port}/secret",
        ),
        *(
            "http://2130706433:{port}/secret",
            "http://127.1:{port}/secret",
            "http://localhost:{port}/secret",
        ),
        *(
            "http://a@start.example:{port}/secret",
            "file:///etc/passwd",
            "ftp://start.example/",
            "http://[",
        ),
        *(
            "http://169.254.169.254/latest/meta-data/",
            "gopher://127.0.0.1:{port}/_GET",
            "http://127.0.0.1.:{port}/secret",
        ),
    ],
)
@pytest.mark.parametrize("code", [301, 302, 303, 307, 308])
async def test_a_redirect_leads_nowhere_that_a_url_could_not(site, target, code):
    site.page("/", "", code, location=target.format(port=site.port))
    site.page("/secret", SECRET)

    async def names(host, port):
        return ["127.0.0.1"]

    sentence = await refusal(site.url("/", "start.example"), "start.example", resolver=names)
    assert SECRET not in sentence and len(site.requests) == 1


async def test_each_redirect_asks_for_its_name_anew(site):
    site.page("/", "", 302, location="/next")
    site.page("/next", SECRET)
    names = Names(["127.0.0.1"], ["127.0.0.1"], ["10.0.0.1"])
    await call(site.url("/", "moving.example"), "moving.example", resolver=names)
    assert names.asked == ["moving.example"] * 2


async def test_redirects_come_to_an_end(site):
    for n in range(9):
        site.page(f"/{n}", "", 302, location=f"/{n + 1}")
    site.page("/9", "here")
    site.page("/round", "", 302, location="/round")
    assert (await call(site.url("/4"), site.host)).endswith("here")
    assert "redirect" in await refusal(site.url("/3"), site.host)
    site.requests.clear()
    assert "redirect" in await refusal(site.url("/round"), site.host)
    assert len(site.requests) == 6


async def test_a_redirect_without_a_target_is_not_followed(site):
    site.page("/", "", 302)
    assert (await refusal(site.url("/"), site.host)).endswith("answered 302 (Found).")


# Limits


async def test_a_page_that_is_too_large_is_not_read_to_its_end(site):
    sent = []

    async def endless(writer):
        writer.write(b"HTTP/1.1 200 OK\r\ncontent-type: text/plain\r\n\r\n")
        for _ in range(1000):
            writer.write(b"a" * 100_000)
            await writer.drain()
            sent.append(1)

    site.pages["/"] = endless
    assert "larger than 2,000,000 bytes" in await refusal(site.url("/"), site.host)
    assert len(sent) < 200


async def test_a_packed_page_is_unpacked_but_only_up_to_the_limit(site):
    site.page("/", gzip.compress(b"hello"), content_encoding="gzip", content_type="text/plain")
    site.page("/bomb", gzip.compress(bytes(LARGEST * 100)), content_encoding="gzip")
    site.page(
        "/most", gzip.compress(b"a" * LARGEST), content_encoding="gzip", content_type="text/plain"
    )
    site.page("/bent", b"not packed", content_encoding="gzip")
    site.page("/odd", b"hello", content_encoding="br")
    assert await call(site.url("/"), site.host) == "hello"
    assert "2,000,000 characters in all" in await call(site.url("/most"), site.host)
    assert "larger than" in await refusal(site.url("/bomb"), site.host)
    assert "cannot be unpacked" in await refusal(site.url("/bent"), site.host)
    assert "not asked for" in await refusal(site.url("/odd"), site.host)


async def test_a_small_page_does_not_unpack_to_more_than_there_is_room_for(site):
    site.page("/bomb", gzip.compress(bytes(LARGEST * 100)), content_encoding="gzip")
    tracemalloc.start()
    try:
        await refusal(site.url("/bomb"), site.host)
        assert tracemalloc.get_traced_memory()[1] < LARGEST * 5
    finally:
        tracemalloc.stop()


async def test_a_server_that_drips_is_left_when_the_time_is_over(site):
    async def dripping(writer):
        writer.write(b"HTTP/1.1 200 OK\r\ncontent-type: text/plain\r\n\r\n")
        for _ in range(limits.SECONDS + 1):
            writer.write(b"a")
            await writer.drain()
            await asyncio.sleep(0.002)  # the client reads it
            later(1)

    site.pages["/"] = dripping
    assert (await refusal(site.url("/"), site.host)).endswith("was not there within 30 s.")


async def test_a_stop_ends_a_fetch_and_its_connection(site):
    asked, gone = asyncio.Event(), asyncio.Event()

    async def silent(writer):
        asked.set()
        while not writer.transport.is_closing():
            writer.write(b"H")
            await asyncio.sleep(0.02)
        gone.set()

    site.pages["/"] = silent
    doing = asyncio.create_task(call(site.url("/"), site.host))
    await asked.wait()
    doing.cancel()
    with pytest.raises(asyncio.CancelledError):
        await doing
    await asyncio.wait_for(gone.wait(), 60)


@pytest.mark.parametrize(
    "noise",
    [
        b"SSH-2.0-OpenSSH_9.9\r\n",
        b"",
        b"HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\nshort",
        b"\0" * 99,
    ],
)
async def test_what_does_not_speak_http_is_said_in_one_sentence(site, noise):
    site.pages["/"] = noise
    assert "as a web server does" in await refusal(site.url("/"), site.host)


@pytest.mark.parametrize(
    "url",
    [
        "",
        "   ",
        "http://",
        "http://[",
        "http://a b/",
        "http://a\0b/",
        "http://ex\nample.org/",
        "http://a:99999999/",
        "\ud800",
        "http://" + "a" * 9000,
        "http://" + "a" * 300 + ".example/",
    ],
)
async def test_what_is_no_url_is_said_in_one_sentence(url):
    assert len(await refusal(url)) < 500


# TLS


def authority():
    """A certificate for docs.example that signs itself."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "docs.example")])
    now = datetime.now(UTC)
    names = [x509.DNSName("docs.example"), x509.IPAddress(IPv4Address("127.0.0.1"))]
    certificate = (
        x509.CertificateBuilder(name, name, key.public_key(), x509.random_serial_number())
        .not_valid_before(now - timedelta(days=1))
        .not_valid_after(now + timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName(names), False)
        .sign(key, hashes.SHA256())
    )
    pem = serialization.Encoding.PEM
    private = key.private_bytes(
        pem, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    return certificate.public_bytes(pem), private


@pytest.fixture
async def secure(tmp_path):
    certificate, key = authority()
    (tmp_path / "both.pem").write_bytes(certificate + key)
    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    tls.load_cert_chain(tmp_path / "both.pem")
    async with served(tls) as site:
        tls.sni_callback = lambda _, name, __: site.names.append(name)
        site.trusting = ssl.create_default_context(cadata=certificate.decode())
        site.page("/", "safe")
        yield site


async def test_the_certificate_is_checked_for_the_name_and_not_for_the_address(secure):
    options = {"resolver": Names(["127.0.0.1"]), "tls": secure.trusting}
    assert await call(f"https://docs.example:{secure.port}/", "docs.example", **options) == "safe"
    assert secure.names == ["docs.example"]
    sentence = await refusal(f"https://other.example:{secure.port}/", "other.example", **options)
    assert sentence.endswith("has a certificate that is not valid.")
    assert secure.names == ["docs.example", "other.example"]


async def test_a_certificate_of_nobody_is_refused(secure):
    sentence = await refusal(f"https://{secure.host}/", secure.host)
    assert sentence.endswith("has a certificate that is not valid.")
    assert not secure.requests


async def test_a_connection_made_for_one_name_does_not_serve_another(secure):
    """Both names have one address, so a connection that was kept would be found for the second."""
    secure.keeps_connections = True
    secure.page("/", "", 302, location=f"https://other.example:{secure.port}/")
    options = {"resolver": Names(["127.0.0.1"]), "tls": secure.trusting}
    url = f"https://docs.example:{secure.port}/"
    assert "certificate" in await refusal(url, "docs.example", "other.example", **options)


# Reading a page


def read(html):
    return web_text(html, httpx.URL("https://example.org/docs/"))


def test_links_are_whole_and_only_those_of_the_web():
    page = (
        '<p>See <a href="api">the API</a>, <a href="#top">top</a>, <a href="javascript:x()">x</a>, '
        '<a href="http://a:b/">y</a>, <a>z</a></p>'
    )
    assert read(page) == "See [the API](https://example.org/docs/api), top, x, y, z"


def test_lists_tables_and_code_keep_their_lines():
    page = "<ul><li>one<li>two</ul><pre>a\n  b</pre><table><tr><td>1<td>2<tr><td>3</table>"
    assert read(page) == "- one\n- two\n\na\n  b\n\n | 1 | 2\n | 3"


@pytest.mark.parametrize("tag", ["script", "style", "template", "svg"])
def test_what_no_person_reads_is_dropped(tag):
    assert read(f"<p>a</p><{tag} x='</p>'>var b = '<p>'; {SECRET}</{tag}><p>c</p>") == "a\n\nc"


@pytest.mark.parametrize(
    "unit",
    [
        *(
            "<",
            "<a ",
            '<a "',
            '<a a="',
            "<!--",
            "<!x",
            "<![",
            "<![CDATA[",
            "<?",
            "</a ",
            "<a/",
            "&a",
            "&#",
        ),
        *(
            "<div>",
            "<script>",
            "</script ",
            "<p>hello</p>",
            "<a href='/'>",
            "<pre>",
            "<svg>",
            "a=1 ",
            "<!",
        ),
    ],
)
@pytest.mark.parametrize("end", ["", ">"])
@pytest.mark.sampled(10)
def test_a_bent_page_does_not_take_for_ever(unit, end):
    short, long = (unit * (LARGEST // part // len(unit)) + end for part in (200, 20))
    demand_proportion(read, short, long)


def test_a_page_that_takes_too_long_to_read_is_given_up(monkeypatch):
    monkeypatch.setattr("agents.tools.fetch.PARSING", 0.0)
    with pytest.raises(ToolFailed, match="too entangled"):
        read("<p>" * 100)
