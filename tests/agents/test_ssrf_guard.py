import ipaddress
import socket
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network

import httpx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.inner import Guard, ToolFailed, ask_system, is_public

PUBLIC = "93.184.215.14"
INTERNAL = [
    *("0.0.0.0/8", "10.0.0.0/8", "100.64.0.0/10", "127.0.0.0/8", "169.254.0.0/16"),
    *("172.16.0.0/12", "192.168.0.0/16", "198.18.0.0/15", "224.0.0.0/4", "240.0.0.0/4"),
]


class Names:
    """A resolver that answers from a list, one answer after the other, and counts."""

    def __init__(self, *answers):
        self.answers = list(answers)
        self.asked = []

    async def __call__(self, host, port):
        self.asked.append((host, port))
        return self.answers[min(len(self.asked), len(self.answers)) - 1]


async def reached(url, *answers, allowed=()):
    """The addresses that may be connected to, or the sentence that says why not."""
    guard = Guard(allowed, Names(*(answers or [[PUBLIC]])))
    try:
        return await guard.addresses(httpx.URL(url))
    except ToolFailed as refusal:
        sentence = str(refusal)
        assert sentence.endswith(".") and "\n" not in sentence
        return sentence


def finish(coroutine):
    """Runs what never waits for anything."""
    with pytest.raises(StopIteration) as done:
        coroutine.send(None)
    return done.value.value


internal_v4 = st.one_of(
    *(st.ip_addresses(v=4, network=network) for network in INTERNAL),
    st.sampled_from([IPv4Address("127.0.0.1"), IPv4Address("169.254.169.254")]),
)
internal_v6 = st.one_of(
    *(
        st.ip_addresses(v=6, network=network)
        for network in (
            "::/96",
            "fe80::/10",
            "fec0::/10",
            "fc00::/7",
            "ff00::/8",
            "100::/64",
            "2001:db8::/32",
        )
    ),
    st.sampled_from([IPv6Address("::1"), IPv6Address("::")]),
)


def carried(inner):
    """The IPv6 addresses that carry an IPv4 address somewhere."""
    number = int(inner)
    return [
        IPv6Address(number),  # compatible
        IPv6Address((0xFFFF << 32) | number),  # mapped
        IPv6Address((0xFFFF << 48) | number),  # translated
        IPv6Address((0x64FF9B << 96) | number),  # NAT64
        IPv6Address((0x64FF9B0001 << 80) | number),  # NAT64 of one network
        IPv6Address((0x2002 << 112) | (number << 80) | 1),  # 6to4
        IPv6Address((0x20010000 << 96) | (number << 64) | 1),  # Teredo server
        IPv6Address((0x20010000 << 96) | (number ^ 0xFFFFFFFF)),  # Teredo client
    ]


def spellings(address):
    """The ways to write an IPv4 address that some resolver, browser or library understands."""
    a, b, c, d = address.packed
    number = int(address)
    tail = int.from_bytes(address.packed[1:], "big")
    return [
        *(str(number), hex(number), f"0{number:o}", f"0x{number:08X}"),
        *(
            f"{a}.{tail}",
            f"{a}.{b}.{c * 256 + d}",
            f"0x{a:x}.{tail}",
            f"{a:#x}.{b:#x}.{c:#x}.{d:#x}",
        ),
        *(f"0{a:o}.0{b:o}.0{c:o}.0{d:o}", f"{a:03}.{b:03}.{c:03}.{d:03}", f"{a}.{b}.{c}.{d:#x}"),
        *(f"{address}.", f"{number}.", f"{address}..", f".{address}", f"{a}..{b}.{c}.{d}"),
        *(f"%{ord(str(a)[0]):02x}{str(address)[1:]}", f"{address}%00", f"{address}%2e"),
        str(address).translate({48 + n: 0xFF10 + n for n in range(10)}),
        *(str(address).replace(".", dot) for dot in "。．｡"),
        *(
            f"[::ffff:{address}]",
            f"[::{address}]",
            f"[64:ff9b::{address}]",
            f"[::ffff:0:{address}]",
        ),
        *(
            f"[::ffff:{address}%25lo]",
            f"[::1%25{address}]",
            f"user@{address}",
            f"example.org:80@{address}",
        ),
        *(
            f"example.org@{address}",
            f"example.org\\@{address}",
            f"{address}\\@example.org",
            f"{address} ",
        ),
    ]


# Addresses


@given(internal_v4 | internal_v6)
def test_no_internal_address_is_public(address):
    assert not is_public(str(address))


@given(internal_v4, st.data())
def test_no_address_that_carries_an_internal_one_is_public(inner, data):
    assert not is_public(str(data.draw(st.sampled_from(carried(inner)))))


@given(st.ip_addresses())
def test_what_python_calls_internal_is_not_public(address):
    if address.is_private or address.is_multicast or address.is_reserved or address.is_unspecified:
        assert not is_public(str(address)) or address in IPv6Network("64:ff9b::/96")


@pytest.mark.parametrize(
    "address",
    [
        *("168.63.129.16", "192.0.0.192", "100.100.100.200", "fd00:ec2::254", "fe80::1%eth0"),
        *("192.0.2.1", "198.51.100.1", "203.0.113.1"),
        *("192.88.99.1", "3fff::1", "64:ff9b::a00:1", "64:ff9b:1::808:808", "2002:808:808::1"),
        *("2001::1", "2001:10::1", "5f00::1", "::ffff:8.8.8.8", "", "localhost", "1", "127.1"),
    ],
)
def test_the_corners_of_clouds_and_registries_are_not_public(address):
    assert not is_public(address)


@pytest.mark.parametrize(
    "address", [PUBLIC, "8.8.8.8", "2606:4700::1111", "2001:4860:4860::8888", "64:ff9b::808:808"]
)
def test_ordinary_addresses_are_public(address):
    assert is_public(address)


def test_the_edges_of_each_internal_network_belong_to_it_and_their_neighbours_do_not():
    for network in map(
        IPv4Network, ["10.0.0.0/8", "100.64.0.0/10", "127.0.0.0/8", "172.16.0.0/12"]
    ):
        assert not is_public(str(network[0])) and not is_public(str(network[-1]))
        assert is_public(str(network[0] - 1)) and is_public(str(network[-1] + 1))


# Spellings


@settings(max_examples=400, deadline=None)
@given(
    internal_v4,
    st.data(),
    st.sampled_from(["http", "https"]),
    st.sampled_from(["", ":80", ":8000"]),
)
def test_no_spelling_of_an_internal_address_passes(address, data, scheme, port):
    host = data.draw(st.sampled_from([str(address), *spellings(address)]))
    try:
        url = httpx.URL(f"{scheme}://{host}{port}/")
    except httpx.InvalidURL:
        return
    names = Names([PUBLIC])
    try:
        addresses = finish(Guard((), names).addresses(url))
    except ToolFailed:
        return
    # It was taken for an ordinary name, and goes where that name's public address is.
    assert addresses == [PUBLIC] and names.asked
    assert not any(sign.isdecimal() for sign in names.asked[0][0].rpartition(".")[2])


@settings(max_examples=400, deadline=None)
@given(
    st.text(max_size=40),
    st.sampled_from(["", "http://", "https://", "//", "http:/", "http://a@", "http://["]),
)
def test_whatever_is_said_to_be_a_url_a_resolver_is_only_asked_for_plain_names(rest, start):
    try:
        url = httpx.URL(start + rest)
    except (httpx.InvalidURL, UnicodeError):
        return
    names = Names([PUBLIC])
    try:
        addresses = finish(Guard((), names).addresses(url))
    except ToolFailed:
        return
    assert all(map(is_public, addresses))
    for host, _ in names.asked:
        assert host.isascii() and not set(host) & set("%:/\\@[] \0\r\n") and not host.endswith(".")
        with pytest.raises(OSError):
            socket.inet_aton(host)


@given(internal_v6)
def test_no_internal_ipv6_address_passes_in_brackets(address):
    for text in (str(address), address.exploded):
        with pytest.raises(ToolFailed):
            finish(Guard((), Names([PUBLIC])).addresses(httpx.URL(f"http://[{text}]/")))


@pytest.mark.parametrize("host", ["127.0.0.1", "2130706433", "0x7f.1", "0177.0.0.1", "127.1", "0"])
def test_the_forms_above_are_really_understood_by_a_resolver(host):
    """Otherwise refusing them would prove nothing."""
    assert ipaddress.ip_address(socket.inet_aton(host)) in (
        IPv4Address("127.0.0.1"),
        IPv4Address("0.0.0.0"),
    )


# URLs


@pytest.mark.parametrize(
    ("url", "word"),
    [
        ("ftp://example.org/", "http and https"),
        ("file:///etc/passwd", "http and https"),
        ("gopher://example.org/", "http and https"),
        ("example.org", "http and https"),
        ("http:///page", "no host"),
        ("http://alice:secret@example.org/", "password"),
        ("http://alice@example.org/", "password"),
        ("http://example.org./", "usual form"),
        ("http://127.0.0.1./", "usual form"),
        ("http://-example.org/", "usual form"),
        ("http://example.org%2e/", "usual form"),
        ("http://[fe80::1%25eth0]/", "usual form"),
    ],
)
async def test_what_is_not_plain_is_refused_and_says_why(url, word):
    sentence = await reached(url)
    assert word in sentence and "secret" not in sentence


async def test_names_and_public_addresses_pass_and_are_pinned():
    assert await reached("https://example.org/") == [PUBLIC]
    assert await reached("http://bücher.example/") == [PUBLIC]
    assert await reached("http://8.8.8.8/", []) == ["8.8.8.8"]
    assert await reached("http://[2606:4700::1111]:8080/", []) == ["2606:4700::1111"]


async def test_one_internal_address_among_public_ones_is_enough_to_refuse():
    sentence = await reached("http://example.org/", [PUBLIC, "10.1.2.3"])
    assert "not a public address" in sentence and "10.1.2.3" not in sentence


async def test_a_name_without_an_address_is_said_to_be_unknown():
    assert "could not be found" in await reached("http://nowhere.example/", [])

    async def fails(host, port):
        raise socket.gaierror("Name or service not known")

    with pytest.raises(ToolFailed, match="could not be found"):
        await Guard((), fails).addresses(httpx.URL("http://nowhere.example/"))


# Hosts that the agent's file allows


@pytest.mark.parametrize(
    "allowed", ["wiki.internal", "wiki.internal:8080", "WIKI.internal", " wiki.internal "]
)
async def test_an_allowed_host_may_be_private(allowed):
    assert await reached("http://wiki.internal:8080/", ["10.0.0.5"], allowed=[allowed]) == [
        "10.0.0.5"
    ]


@pytest.mark.parametrize(
    "allowed",
    [
        "wiki.internal:80",
        "internal",
        "*.internal",
        "",
        "a.wiki.internal",
        "10.0.0.5",
        "http://wiki.internal",
    ],
)
async def test_allowing_one_host_and_port_allows_no_other(allowed):
    sentence = await reached("http://wiki.internal:8080/", ["10.0.0.5"], allowed=[allowed])
    assert "not a public address" in sentence


async def test_the_port_that_goes_without_saying_is_counted():
    allowed = ["wiki.internal:443", "[::1]:80", "127.0.0.1:80"]
    assert await reached("https://wiki.internal/", ["10.0.0.5"], allowed=allowed) == ["10.0.0.5"]
    assert "public" in await reached("http://wiki.internal/", ["10.0.0.5"], allowed=allowed)
    assert await reached("http://[::1]/", allowed=allowed) == ["::1"]
    assert "public" in await reached("http://[::1]:81/", allowed=allowed)
    assert await reached("http://127.0.0.1/", allowed=allowed) == ["127.0.0.1"]


async def test_an_allowed_address_is_not_allowed_in_another_spelling():
    for host in ("2130706433", "127.1", "[::ffff:127.0.0.1]", "127.0.0.1.", "0x7f000001"):
        assert isinstance(await reached(f"http://{host}/", allowed=["127.0.0.1"]), str)


async def test_the_system_knows_its_own_name():
    assert set(await ask_system("localhost", 80)) <= {"127.0.0.1", "::1"}
    with pytest.raises(OSError):
        await ask_system("nowhere.invalid", 80)
