"""The local owner: whoever started Planside on this machine."""

from __future__ import annotations

from django.contrib.auth.models import User

OWNER = "owner"


def local_owner() -> User:
    """The admin whom the printed link signs in; made at the first start, without a password."""
    owner, is_new = User.objects.get_or_create(
        username=OWNER, defaults={"is_staff": True, "is_superuser": True}
    )
    if is_new:
        owner.set_unusable_password()
        owner.save(update_fields=["password"])
    return owner
