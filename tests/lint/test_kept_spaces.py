"""Elements that keep white space as it is have none of their template's."""

import re

from django.conf import settings

SHEETS = settings.BASE_DIR / "static" / "css"
TEMPLATES = settings.BASE_DIR / "templates"
KEEPING = re.compile(r"([^{}]+)\{[^{}]*white-space:\s*(?:pre|pre-wrap|break-spaces);")
ELEMENT = re.compile(r"<(\w+)\b[^<>]*?\bclass=\"([^\"]*)\"(?:[^<>%]|%\}|\{%)*>")


def classes_that_keep_spaces():
    """Each class that does so wherever it stands."""
    selectors = (
        selector.strip()
        for sheet in SHEETS.glob("*.css")
        for rule in KEEPING.finditer(re.sub(r"/\*.*?\*/", "", sheet.read_text(), flags=re.DOTALL))
        for selector in rule[1].split(",")
    )
    return {selector[1:] for selector in selectors if re.fullmatch(r"\.[\w-]+", selector)}


def spaced(template, classes):
    """The tags of elements whose text begins or ends with white space of the template."""
    for tag in ELEMENT.finditer(template):
        if not classes & set(tag[2].split()) or "data-comments" in tag[0]:
            continue  # comments that were sent are elements, which keep the space of their own text
        inside = template[tag.end() :].partition(f"</{tag[1]}>")[0]
        if tag[1] != "textarea" and inside != inside.strip():
            yield tag[0]


def test_no_element_that_keeps_spaces_has_some_of_its_template():
    classes = classes_that_keep_spaces()
    assert {"own-message", "as-written", "need-said"} <= classes
    found = {
        path.name: tags
        for path in TEMPLATES.rglob("*.html")
        if (tags := list(spaced(path.read_text(), classes)))
    }
    assert found == {}
