"""What an image is by its own bytes, and what is said of one that is not shown."""

import struct
import zlib
from base64 import b64encode

import pytest

pytest.importorskip("mcp", reason="the package mcp is not installed")

from mcp_types import BlobResourceContents, CallToolResult, EmbeddedResource, ImageContent

from tests.images import gif, jpeg, png, webp
from tests.inner import NotShown, image_of, result_of


def result(*images):
    content = [ImageContent(data=b64encode(data).decode(), mime_type=kind) for kind, data in images]
    return result_of("shoot", CallToolResult(content=content))


@pytest.mark.parametrize("made", [png, gif, jpeg, webp])
def test_the_bytes_say_what_an_image_is_and_how_large(made):
    image = image_of(made(640, 480))
    assert image.media_type == f"image/{made.__name__}"
    assert (image.width, image.height) == (640, 480)


@pytest.mark.parametrize("made", [png, gif, jpeg, webp])
def test_the_word_of_the_sender_counts_for_nothing(made):
    found = result(("text/html", made(3, 2)))
    assert [image.media_type for image in found.images] == [f"image/{made.__name__}"]


@pytest.mark.parametrize(
    ("kind", "data"),
    [
        ("image/svg+xml", b"<svg xmlns='http://www.w3.org/2000/svg'><script>1</script></svg>"),
        ("image/png", b"<!doctype html><script>alert(1)</script>"),
        ("image/png", b""),
        ("image/bmp", b"BM" + bytes(60)),
        ("image/avif", b"\0\0\0\x1cftypavif"),
    ],
)
def test_what_is_none_of_four_types_says_in_one_sentence_that_it_is_not_shown(kind, data):
    found = result((kind, data))
    assert not found.images
    words = (
        f"[image: {kind}, {len(data)} bytes. It is not shown: only PNG, JPEG, GIF and WebP are.]"
    )
    assert found.text == words


@pytest.mark.parametrize("made", [png, jpeg, webp, gif])
def test_a_few_bytes_that_unpack_to_gigabytes_are_not_shown(made):
    side = 16_000 if made is webp else 60_000
    found = result(("image/png", made(side, side)))
    assert not found.images
    assert f"It is not shown: {side:,} × {side:,} pixels are more than 32 million.]" in found.text


def test_a_png_of_a_hundred_thousand_pixels_on_each_side_is_not_shown():
    assert "100,000 × 100,000 pixels" in result(("image/png", png(100_000, 100_000))).text


def test_a_frame_beyond_the_screen_of_a_gif_counts():
    small = bytearray(gif(2, 2))
    at = small.index(b"\x2c")
    small[at + 1 : at + 9] = struct.pack("<HHHH", 60_000, 60_000, 2, 2)
    with pytest.raises(NotShown, match="60,002 × 60,002"):
        image_of(bytes(small))


@pytest.mark.parametrize("made", [png, gif, jpeg, webp])
def test_an_image_that_is_cut_anywhere_is_shown_or_says_why_not(made):
    whole = made(640, 480)
    for length in range(len(whole)):
        try:
            image = image_of(whole[:length])
        except NotShown as reason:
            assert str(reason).startswith("It is not shown: ")
        else:
            assert (image.width, image.height) == (640, 480)


def test_the_first_eight_of_a_result_are_shown_and_each_of_the_others_says_why_not():
    found = result(*[("image/png", png(1, 1))] * 10)
    assert len(found.images) == 8
    assert found.text.count("It is not shown: only the first 8 of a result are.") == 2


def test_a_file_that_is_no_image_is_only_named():
    archive = zlib.compress(b"x" * 100)
    blob = BlobResourceContents(
        uri="file:///a.zip", mime_type="application/zip", blob=b64encode(archive).decode()
    )
    found = result_of("zip", CallToolResult(content=[EmbeddedResource(resource=blob)]))
    assert found.text == f"[resource: file:///a.zip, application/zip, {len(archive)} bytes]"
