"""Components as tags: what is written in a template stands in the page as it was meant."""

import json

import pytest
from django.template import Context, Template

from tests.pressing import Page

BUTTON = """{% load components %}{% button label id="one-{}" key=7 post="/x" why_not=why hx_vals='{"keep":"mine"}' %}"""


@pytest.mark.parametrize("label", ["Keep", 'a "b" <c> & {}'])
@pytest.mark.parametrize("why", ["", 'It is "off".'])
def test_a_button_has_its_words_and_attributes_whatever_stands_in_them(label, why):
    html = Template(BUTTON).render(Context({"label": label, "why": why}))
    given = Page(html).ids["one-7"].given
    assert json.loads(given["hx-vals"]) == {"keep": "mine"}
    assert (given["hx-post"], given.get("title", "")) == ("/x", why)
    assert "<c>" not in html
