import json

import pytest

from tests.growth import demand_proportion
from tests.inner import has_more_values

TEXTS = {
    "a list": ([1] * 100, 100),
    "an object": ({str(n): n for n in range(100)}, 100),
    "lists in lists": ([[1, 2]] * 10, 30),
    "commas and brackets in texts": (['"[{,,,\\"', "\\", "\\\\,"] * 10, 30),
    "keys with commas": ({",[{" * n: 1 for n in range(10)}, 10),
}


@pytest.mark.parametrize(("value", "holds"), TEXTS.values(), ids=TEXTS.keys())
def test_values_are_counted_outside_of_texts_alone(value, holds):
    text = json.dumps(value).encode()
    assert has_more_values(text, holds - 1)
    assert not has_more_values(text, holds)


@pytest.mark.parametrize("piece", [b'"', b'\\"', b'"",', b"[],", b'","', b"\\"])
def test_counting_takes_no_longer_than_parsing_would(piece):
    short, long = (b"[" + piece * (size // len(piece)) for size in (800_000, 8_000_000))
    demand_proportion(lambda text: has_more_values(text, 20_000), short, long)
