"""Where a browser finds the server of this home."""

from __future__ import annotations

from pathlib import Path

from django.conf import settings

from agents.config.workspaces import write_atomically


def keep_address(address: str) -> None:
    """For commands beside the server: its port may have been any that was free."""
    write_atomically(kept(), address.encode())


def public_address() -> str:
    if not settings.PLANSIDE_IS_LOCAL:
        return f"https://{settings.PLANSIDE_ALLOWED_HOSTS[0]}"
    if kept().is_file():
        return kept().read_text()
    return f"http://{settings.PLANSIDE_HOST}:{settings.PLANSIDE_PORT}"


def kept() -> Path:
    return Path(settings.PLANSIDE_HOME) / ".address"
