"""The pages of the settings: one table for their menu, their titles and the search."""

from __future__ import annotations

from typing import NamedTuple

from django.contrib.auth.base_user import AbstractBaseUser
from django.contrib.auth.models import AnonymousUser
from django.utils.functional import Promise
from django.utils.translation import gettext_lazy


class SettingsPage(NamedTuple):
    name: str  # of its address
    title: str | Promise
    icon: str
    is_for_admins: bool = False


PAGES = (
    SettingsPage("agents", gettext_lazy("Agents"), "agent"),
    SettingsPage("models", gettext_lazy("Models"), "cube"),
    SettingsPage("tools", gettext_lazy("Tools"), "tool"),
    SettingsPage("chains", gettext_lazy("Chains"), "route"),
    SettingsPage("approvals", gettext_lazy("Approvals"), "shield"),
    SettingsPage("appearance", gettext_lazy("Appearance"), "look"),
    SettingsPage("notifications", gettext_lazy("Notifications"), "bell"),
    SettingsPage("account", gettext_lazy("Account"), "user"),
    SettingsPage("people", gettext_lazy("People"), "people", is_for_admins=True),
)
TITLES = {page.name: page.title for page in PAGES}


def pages_for(user: AbstractBaseUser | AnonymousUser) -> list[SettingsPage]:
    is_admin = bool(getattr(user, "is_superuser", False))
    return [page for page in PAGES if is_admin or not page.is_for_admins]
