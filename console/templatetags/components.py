"""The components of templates/components as tags."""

from __future__ import annotations

from functools import lru_cache

from django import template
from django.forms.utils import flatatt
from django.utils.html import escape, format_html
from django.utils.safestring import SafeString

from console.components import component
from console.language import cached
from plans.status import MARKS

KEYED = ("id", "data_opens", "data_copy")  # attributes in which one of many is named
AS_JSON = ("hx_vals", "hx_config")  # with quotation marks, which a template's own text may keep

register = template.Library()


@register.simple_tag
@lru_cache(maxsize=256)
def icon(name: str, kind: str = "") -> SafeString:
    """A 16 px icon of the sprite; decoration, so it has no name."""
    return component("icon", name=name, kind=kind)


@register.simple_tag
@cached(256)
def mark(shape: str, size: str = "", name: str = "", works: bool = False) -> SafeString:
    """A state mark, which has a name for readers who do not see it, and moves only if something
    `works` on what is in progress."""
    moves = works and shape == "in_progress"
    return component("mark", shape=shape, size=size, name=name or str(MARKS[shape]), moves=moves)


@register.simple_tag
@lru_cache(maxsize=256)
def ring(settled: int, total: int) -> SafeString:
    """Progress as a ring; what it says stands in words beside it."""
    return component("ring", percent=round(100 * settled / total) if total else 0)


@register.simple_tag
@lru_cache(maxsize=1024, typed=True)
def icon_button(
    icon: str, label: str, about: object = "", title: str = "", **attributes: object
) -> SafeString:
    """A button that is an icon. `label` is its name, and its tooltip where no `title` is given,
    with what it is about at {}; its attributes are written as those of `button`."""
    name = label.format(about)
    own = {"type": "button", "class": "icon-button", "aria_label": name, "title": title or name}
    return drawn("button", icon, "", own | attributes)


@register.simple_tag
@lru_cache(maxsize=1024, typed=True)
def button(
    label: str,
    icon: str = "",
    kind: str = "",
    size: str = "",
    post: str = "",
    why_not: str = "",
    **attributes: object,
) -> SafeString:
    """A button with words, and an icon before them; with an href it is a link. What it `post`s to
    is pressed once at a time; with a reason `why_not`, which it says, it cannot be pressed.

    Attributes are written with _ for -, and True for one without a value; empty ones are left out.
    """
    element = "a" if "href" in attributes else "button"
    own = {"type": "button"} if element == "button" else {}
    own |= {"class": "button", "data_kind": kind, "data_size": size}
    posts = {"hx_post": post, "hx_sync": "this:drop"} if post else {}
    blocked = {"type": "button", "aria_disabled": "true", "title": why_not} if why_not else {}
    given = own | posts | attributes | blocked
    given = {name: value for name, value in given.items() if value != ""}
    return drawn(element, icon, label, given)


def drawn(element: str, name: str, label: str, attributes: dict[str, object]) -> SafeString:
    """Without a template, which takes 230 µs in place of 85: a page of messages has a hundred."""
    sign = icon(name) if name else ""
    return format_html("<{0}{1}>{2}{3}</{0}>", element, flat(attributes), sign, label)


def flat(attributes: dict[str, object]) -> SafeString:
    """As HTML has them; one of many has a `key` at {} in its id, and in what it opens."""
    key = attributes.pop("key", "")
    attributes |= {name: str(attributes[name]).format(key) for name in KEYED if name in attributes}
    attributes |= {name: escape(attributes[name]) for name in AS_JSON if name in attributes}
    return flatatt({name.replace("_", "-"): value for name, value in attributes.items()})


@register.simple_tag
def search_field(label: str, css: str = "", finds: str = "", **attributes: object) -> SafeString:
    """A field to search by, which may ask an address for what it `finds` while one types."""
    own: dict[str, object] = {"type": "search", "autocomplete": "off"}
    if finds:
        own |= {"hx_get": finds, "hx_trigger": "input changed delay:150ms"}
        own |= {"hx_sync": "this:replace"}
    return component("search_field", label=label, css=css, attributes=flat(own | attributes))


@register.simple_block_tag
def toast(content: str, icon: str, words: str, **attributes: object) -> SafeString:
    """What has just been done, with a form of these attributes that takes it back."""
    return component("toast", content=content, icon=icon, words=words, attributes=flat(attributes))


@register.simple_block_tag
def dialog(
    content: str, id: str, title: str, kind: str = "", key: object = "", about: str = ""
) -> SafeString:
    """A dialog that a button with data-opens opens. One of many has a `key` in its id, and what it
    is about stands at {} in its title; `kind` "form" is the wide one."""
    if key:
        id = f"{id}-{key}"
    return component("dialog", content=content, id=id, title=title.format(about), kind=kind)


@register.simple_block_tag
def settings_section(content: str, id: str, title: str) -> SafeString:
    """A card of the settings that does not fold: a title, then rows of label and control."""
    return component("settings_section", content=content, id=id, title=title)


@register.simple_block_tag
def secret_lines(
    content: str, name: str, example: str, known: list[str] | None = None, rows: int = 2
) -> SafeString:
    """A field of lines that are never shown again; `known` are the names of those that are there,
    which stay while it is empty."""
    return component(
        "secret_lines", content=content, name=name, example=example, known=known, rows=rows
    )


@register.simple_block_tag
def settings_card(
    content: str, card: str, id: str, label: str, is_broken: object = False
) -> SafeString:
    """The frame of an agent or a service in the settings: a header, notes, then what unfolds."""
    id = f"{card}-{id}"
    return component("settings_card", content=content, id=id, label=label, is_broken=is_broken)


@register.simple_block_tag
def settings_card_header(
    content: str, card: str, id: str, icon: str, title: str, path: str
) -> SafeString:
    """Name and place, at the right of them the content, and below where a refusal is said."""
    id = f"{card}-{id}"
    return component(
        "settings_card_header", content=content, id=id, icon=icon, title=title, path=path
    )


@register.simple_block_tag
def settings_card_note(
    content: str, icon: str, role: str = "", is_error: bool = False
) -> SafeString:
    return component("settings_card_note", content=content, icon=icon, role=role, is_error=is_error)


@register.simple_block_tag
def settings_card_body(content: str, card: str, id: str, body: str, opened: object) -> SafeString:
    """What settings/_unfold.html shows and hides; `opened` is the id of the open card."""
    is_open = opened == id
    return component(
        "settings_card_body", content=content, id=f"{card}-{id}-{body}", is_open=is_open
    )
