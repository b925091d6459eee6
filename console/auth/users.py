"""People: the local owner, and names written one way, in one alphabet, and unlike every other."""

from __future__ import annotations

import re
import unicodedata

from django.contrib.auth.models import User
from django.utils.translation import gettext

from agents.errors import Conflict, Invalid, about
from agents.models import LocalOwner
from agents.normalization import normalized

OWNER = "owner"
LONGEST = 150
MARKS = "@.+-_"
# What the pages call those who are no person of this name, and who the first admin is.
RESERVED = {"agent", "system", "planside", "assistant", "you", "nobody", OWNER}
# Scripts that one name may mix, as Japanese and Korean names do.
TOGETHER = ({"CJK", "HIRAGANA", "KATAKANA"}, {"CJK", "HANGUL"}, {"CJK", "BOPOMOFO"})
# Letters of Cyrillic and Greek that look like Latin ones.
CYRILLIC = str.maketrans("авекмнорстухіјѕһӏԁԛԝьгп", "abekmhopctyxijshldqwbrn")
GREEK = str.maketrans("αβγεικνορτυχωη", "abyeikvoptuxwn")
DIGITS = str.maketrans("01", "ol")


def local_owner() -> User:
    """Whoever started Planside on this machine: the admin whom the printed link signs in.

    Made at the first start, without a password; it is them under another name too.
    """
    if found := User.objects.filter(pk__in=LocalOwner.objects.values("pk")).first():
        return found
    owner, is_new = User.objects.get_or_create(
        username=OWNER, defaults={"is_staff": True, "is_superuser": True}
    )
    if is_new:
        owner.set_unusable_password()
        owner.save(update_fields=["password"])
    return owner


def is_local_owner(user: User) -> bool:
    return user.username == OWNER or LocalOwner.objects.filter(user=user).exists()


@about("name")
def new_username(typed: str, of: User | None = None) -> str:
    """The name as it is stored, in the place of an earlier one `of` somebody. Raises Invalid or
    Conflict with what is wrong with it."""
    name = normalised(typed) if len(typed) <= LONGEST else ""
    if not 0 < len(name) <= LONGEST:
        raise Invalid(
            gettext("A name has between 1 and {LONGEST} characters.").format(LONGEST=LONGEST)
        )
    # Marks belong to scripts that need them; on Latin letters they are part of the letter.
    letters = {each for each in name if unicodedata.category(each)[0] in "LM"}
    if set(name) - letters - set(MARKS) - set("0123456789"):
        raise Invalid(gettext("A name is made of letters, digits and @ . + - _."))
    scripts = {unicodedata.name(each, "?").split(" ")[0].split("-")[0] for each in letters}
    if len(scripts) > 1 and not any(scripts <= allowed for allowed in TOGETHER):
        raise Invalid(
            gettext("A name is written in one alphabet: letters that only look alike are two.")
        )
    looks = skeleton(name)
    if looks in RESERVED:
        raise Invalid(
            gettext("Nobody can be called {name}: it means somebody else here.").format(name=name)
        )
    others = User.objects.exclude(pk=of.pk) if of else User.objects.all()
    taken = others.values_list("username", flat=True)
    if looks in {skeleton(each) for each in taken}:
        raise Conflict(
            gettext("There is already a person named {name!r}, or so alike.").format(name=name)
        )
    return name


def known_username(typed: str) -> str:
    """Whose name was typed: exactly so, or written another way; else as it would be stored.

    What is too long for a name is nobody's, whichever way it is written, and is not looked up.
    """
    if len(typed) > LONGEST or User.objects.filter(username=typed).exists():
        return typed
    name = normalised(typed)
    if len(name) > LONGEST:
        return name
    alike = list(User.objects.filter(username__iexact=name).values_list("username", flat=True)[:2])
    return alike[0] if len(alike) == 1 else name


def normalised(typed: str) -> str:
    return normalized(typed, "NFKC")


def skeleton(name: str) -> str:
    """What a name looks like: the same for two that a person would take for one."""
    letters = normalised(name).casefold().translate(CYRILLIC).translate(GREEK).translate(DIGITS)
    return re.sub(r"[\W_]", "", letters)
