"""The keys of the pages: the one list that ? shows and that tests hold against the scripts."""

from __future__ import annotations

from dataclasses import dataclass

from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _


@dataclass(frozen=True)
class Key:
    """`name` is what tests call it. Several `keys` do the same, or its two directions; those to be
    pressed together have spaces between them."""

    name: str
    keys: tuple[str, ...]
    does: str | Promise

    @property
    def pressed(self) -> list[list[str]]:
        return [together.split() for together in self.keys]


@dataclass(frozen=True)
class Place:
    """Where these keys work."""

    title: str | Promise
    keys: tuple[Key, ...]


PLACES = (
    Place(
        _("Anywhere"),
        (
            Key("find", ("Ctrl K",), _("Search everything")),
            Key("new", ("Ctrl Shift O",), _("New chat")),
            Key("plan", ("Ctrl .",), _("Open or close the plan; the focus goes along")),
            Key("close", ("Esc",), _("Close a menu, dialog, editor or sheet; it stops nothing")),
            Key("list", ("?",), _("This list, where you are not typing")),
        ),
    ),
    Place(
        _("Message box"),
        (
            Key("send", ("Enter",), _("Send")),
            Key("line", ("Shift Enter",), _("New line")),
            Key("commands", ("/",), _("Commands, where it comes first")),
            Key("command", ("Up", "Down"), _("Choose a command; Enter or Tab takes it")),
            Key("unsent", ("Up",), _("In the empty box: edit the last message that was not sent")),
            Key("attached", ("Delete", "Backspace"), _("On an attached file: take it off")),
        ),
    ),
    Place(
        _("Messages, forms and lists"),
        (
            Key("walk", ("Left", "Right"), _("On “2 of 3”: the earlier or the later alternative")),
            Key("several", ("Ctrl Enter",), _("In a field of several lines: save or send it")),
            Key("list-move", ("Up", "Down", "Home", "End"), _("In a list: move; Enter picks")),
        ),
    ),
    Place(
        _("On a subtask that can be changed"),
        (
            Key("edit", ("Enter", "F2"), _("Edit it; Enter saves its name, Esc cancels")),
            Key("move", ("Alt Up", "Alt Down"), _("Move it")),
            Key("remove", ("Delete",), _("Remove it, with Undo")),
        ),
    ),
    Place(
        _("What waits for your yes"),
        (
            Key("start", ("Ctrl Enter",), _("In a plan that was proposed: Start plan")),
            Key("allow", ("Ctrl Enter",), _("In a call that asks: Allow once")),
        ),
    ),
)
