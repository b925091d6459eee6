"""The page that lists the keys; that the list is whole: tests/lint/test_keys.py."""

import pytest

from tests.inner import PLACES
from tests.world import person, signed_in


@pytest.mark.django_db
def test_the_list_is_fetched_when_it_is_asked_for():
    client = signed_in(person("alice"))
    page = client.get("/keys").content.decode()
    for key in (key for place in PLACES for key in place.keys):
        for word in {word for together in key.keys for word in together.split()}:
            assert f"<kbd>{word}</kbd>" in page
    assert "<kbd>F2</kbd>" not in client.get("/settings/appearance/").content.decode()
