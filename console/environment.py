"""The few environment variables Planside reads, each loud when it is wrong."""

from __future__ import annotations

import os
from pathlib import Path
from urllib.parse import unquote, urlsplit

from django.core.exceptions import ImproperlyConfigured

LOOPBACK = {"127.0.0.1", "localhost", "::1"}


def text(name: str, default: str = "") -> str:
    return os.environ.get(name, "").strip() or default


def number(name: str, default: float) -> float:
    raw = text(name)
    try:
        return float(raw) if raw else default
    except ValueError:
        raise ImproperlyConfigured(f"{name} must be a number, not {raw!r}.") from None


def port(name: str, default: int) -> int:
    value = number(name, default)
    if value != int(value) or not 0 <= value <= 65535:
        raise ImproperlyConfigured(f"{name} must be a port from 0 to 65535, not {text(name)!r}.")
    return int(value)


def names(name: str) -> list[str]:
    return [part.strip() for part in text(name).split(",") if part.strip()]


def home() -> Path:
    return Path(text("PLANSIDE_HOME", "~/.planside")).expanduser().resolve()


def database(home: Path) -> dict[str, object]:
    """DATABASE_URL as a Django database; without it, SQLite in the home folder."""
    url = text("DATABASE_URL")
    return postgres(url) if url else sqlite(home / "planside.sqlite3")


def sqlite(path: Path) -> dict[str, object]:
    """WAL and IMMEDIATE: readers never wait, writers queue instead of failing as locked."""
    pragmas = {
        "journal_mode": "WAL",
        "synchronous": "NORMAL",
        "busy_timeout": "20000",
        "foreign_keys": "ON",
        "temp_store": "MEMORY",
        "mmap_size": "134217728",
        "cache_size": "-20000",
    }
    return {
        "ENGINE": "django.db.backends.sqlite3",
        "NAME": path,
        "OPTIONS": {
            "transaction_mode": "IMMEDIATE",
            "timeout": 20,
            "init_command": "".join(f"PRAGMA {key}={value};" for key, value in pragmas.items()),
        },
    }


def postgres(url: str) -> dict[str, object]:
    parts = urlsplit(url)
    if parts.scheme not in ("postgres", "postgresql") or not parts.path.strip("/"):
        raise ImproperlyConfigured("DATABASE_URL must look like postgres://user:key@host/name.")
    return {
        "ENGINE": "django.db.backends.postgresql",
        "NAME": parts.path.strip("/"),
        "USER": unquote(parts.username or ""),
        "PASSWORD": unquote(parts.password or ""),
        "HOST": parts.hostname or "",
        "PORT": str(parts.port or ""),
        "OPTIONS": {"pool": {"min_size": 2, "max_size": 10, "timeout": 10}},
    }


def channel_layer() -> dict[str, object]:
    url = text("REDIS_URL")
    if not url:
        return {"BACKEND": "channels.layers.InMemoryChannelLayer"}
    if urlsplit(url).scheme not in ("redis", "rediss"):
        raise ImproperlyConfigured("REDIS_URL must look like redis://host:6379/0.")
    return {
        "BACKEND": "channels_redis.pubsub.RedisPubSubChannelLayer",
        "CONFIG": {"hosts": [url]},
    }


def secret_key(home: Path) -> str:
    """The key beside the database, made at first start and readable by its owner alone."""
    path = home / "secret.key"
    if path.exists():
        return path.read_text().strip()
    from django.core.management.utils import get_random_secret_key

    try:
        home.mkdir(mode=0o700, parents=True, exist_ok=True)
        handle = os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600)
    except OSError as error:
        if path.exists():  # another process was first
            return path.read_text().strip()
        reason = os.strerror(error.errno or 0)
        raise ImproperlyConfigured(f"PLANSIDE_HOME {home} cannot be used: {reason}.") from None
    with os.fdopen(handle, "w") as file:
        file.write(key := get_random_secret_key())
    return key
