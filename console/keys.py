"""The keys of the pages: the one list that ? shows and that tests hold against the scripts."""

from __future__ import annotations

from dataclasses import dataclass

from django.utils.functional import Promise
from django.utils.translation import gettext_lazy


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
        gettext_lazy("Anywhere"),
        (
            Key("find", ("Ctrl K",), gettext_lazy("Search everything")),
            Key("new", ("Ctrl Shift O",), gettext_lazy("New chat")),
            Key("plan", ("Ctrl .",), gettext_lazy("Open or close the plan; the focus goes along")),
            Key(
                "files",
                ("Ctrl Shift F",),
                gettext_lazy("Open or close the files; the focus goes along"),
            ),
            Key(
                "close",
                ("Esc",),
                gettext_lazy("Close a menu, dialog, editor or sheet; it stops nothing"),
            ),
            Key("list", ("?",), gettext_lazy("This list, where you are not typing")),
        ),
    ),
    Place(
        gettext_lazy("Message box"),
        (
            Key("send", ("Enter",), gettext_lazy("Send")),
            Key("line", ("Shift Enter",), gettext_lazy("New line")),
            Key("commands", ("/",), gettext_lazy("Commands, where it comes first")),
            Key("command", ("Up", "Down"), gettext_lazy("Choose a command; Enter or Tab takes it")),
            Key(
                "unsent",
                ("Up",),
                gettext_lazy("In the empty box: edit the last message that was not sent"),
            ),
            Key(
                "attached",
                ("Delete", "Backspace"),
                gettext_lazy("On an attached file: take it off"),
            ),
        ),
    ),
    Place(
        gettext_lazy("Messages, forms and lists"),
        (
            Key(
                "walk",
                ("Left", "Right"),
                gettext_lazy("On “2 of 3”: the earlier or the later alternative"),
            ),
            Key(
                "row-menu",
                ("Shift F10",),
                gettext_lazy("In the list of conversations: the menu of this one"),
            ),
            Key("newest", ("End",), gettext_lazy("In the conversation: to the newest message")),
            Key(
                "several",
                ("Ctrl Enter",),
                gettext_lazy("In a field of several lines: save or send it"),
            ),
            Key(
                "list-move",
                ("Up", "Down", "Home", "End"),
                gettext_lazy("In a list: move; Enter picks"),
            ),
        ),
    ),
    Place(
        gettext_lazy("On a subtask that can be changed"),
        (
            Key(
                "edit", ("Enter", "F2"), gettext_lazy("Edit it; Enter saves its name, Esc cancels")
            ),
            Key("move", ("Alt Up", "Alt Down"), gettext_lazy("Move it")),
            Key("remove", ("Delete",), gettext_lazy("Remove it, with Undo")),
        ),
    ),
    Place(
        gettext_lazy("In the files"),
        (
            Key("tree-move", ("Up", "Down", "Home", "End"), gettext_lazy("Move")),
            Key("tree-fold", ("Right", "Left"), gettext_lazy("Unfold a folder, or fold it")),
            Key("tree-open", ("Enter",), gettext_lazy("Open a file")),
            Key("tree-rename", ("F2",), gettext_lazy("Rename; Enter saves, Esc cancels")),
            Key("tree-delete", ("Delete",), gettext_lazy("Delete, with Undo")),
        ),
    ),
    Place(
        gettext_lazy("What waits for your yes"),
        (
            Key("start", ("Ctrl Enter",), gettext_lazy("In a plan that was proposed: Start plan")),
            Key("allow", ("Ctrl Enter",), gettext_lazy("In a call that asks: Allow once")),
        ),
    ),
)
