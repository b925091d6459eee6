"""The environment variables Planside reads, each refused in one sentence when it is wrong."""

from __future__ import annotations

import os
import re
import tempfile
from contextlib import suppress
from hashlib import sha256
from math import isfinite, nan
from pathlib import Path
from typing import NamedTuple
from urllib.parse import parse_qsl, unquote

from django.core.exceptions import ImproperlyConfigured

from agents.llm.known_providers import KNOWN_PROVIDERS
from agents.normalization import split_url

SHORTEST_KEY = 32  # characters; Django makes 50
LONGEST_KEY = 4096
NO_DATABASE = (
    "DATABASE_URL must look like postgres://user:password@host:5432/name, with %2F for a / in the "
    "password and %40 for an @."
)
LOOPBACK = {"127.0.0.1", "localhost", "::1"}


def text(name: str, default: str = "") -> str:
    return os.environ.get(name, "").strip() or default


def secret(name: str) -> str:
    """Taken out of the environment, so that no program started from here inherits it."""
    return os.environ.pop(name, "").strip()


def number(name: str, default: float) -> float:
    raw = text(name)
    try:
        value = float(raw) if raw else default
    except ValueError:
        value = nan
    if not isfinite(value):
        raise ImproperlyConfigured(f"{name} must be a number, not {raw!r}.")
    return value


def limit(name: str, default: int) -> int:
    """How many at most. There is no value that means without end."""
    value = number(name, default)
    if value != int(value) or value < 1:
        raise ImproperlyConfigured(f"{name} must be a whole number from 1 on, not {text(name)!r}.")
    return int(value)


def one_of(name: str, default: str, *others: str) -> str:
    """The first of the words is meant where nothing is set."""
    value = text(name, default).lower()
    if value not in (default, *others):
        raise ImproperlyConfigured(f"{name} is {', '.join(others)} or {default}, not {value!r}.")
    return value


def yes(name: str) -> bool:
    """The words that OpenTelemetry knows for it."""
    return text(name).lower() in ("true", "1", "span_only", "span_and_event")


def port(name: str, default: int) -> int:
    value = number(name, default)
    if value != int(value) or not 0 <= value <= 65535:
        raise ImproperlyConfigured(f"{name} must be a port from 0 to 65535, not {text(name)!r}.")
    return int(value)


def names(name: str) -> list[str]:
    return [part.strip() for part in text(name).split(",") if part.strip()]


def without_port(host: str) -> str:
    return re.sub(r"^([^:]+|\[.*\]):\d+$", r"\1", host)


class ProviderKey(NamedTuple):
    variable: str
    key: str


def provider_keys() -> dict[str, ProviderKey]:
    """The key of each provider that has one. Of several variables the first counts."""
    found: dict[str, ProviderKey] = {}
    for known in KNOWN_PROVIDERS:
        for variable in known.keys:
            if key := secret(variable):
                found.setdefault(known.name, ProviderKey(variable, key))
    return found


def provider_addresses() -> dict[str, str]:
    named = {known.name: known.address_variable for known in KNOWN_PROVIDERS}
    return {name: text(variable) for name, variable in named.items() if variable and text(variable)}


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
        "CONN_MAX_AGE": None,  # a file: opening it again at every request gains nothing
        "OPTIONS": {
            "transaction_mode": "IMMEDIATE",
            "timeout": 20,
            "init_command": "".join(f"PRAGMA {key}={value};" for key, value in pragmas.items()),
        },
    }


def postgres(url: str) -> dict[str, object]:
    try:
        parts = split_url(url)
        port, name = str(parts.port or ""), parts.path.strip("/")
    except ValueError:  # a port that is none, half an IPv6 address
        raise ImproperlyConfigured(NO_DATABASE) from None
    # A / or @ of a password that is not written as %2F or %40 ends up in the name.
    if parts.scheme not in ("postgres", "postgresql") or not name or {"/", "@"} & set(name):
        raise ImproperlyConfigured(NO_DATABASE)
    return {
        "ENGINE": "django.db.backends.postgresql",
        "NAME": unquote(name),
        "USER": unquote(parts.username or ""),
        "PASSWORD": unquote(parts.password or ""),
        "HOST": parts.hostname or "",
        "PORT": port,
        "CONN_HEALTH_CHECKS": True,  # by the pool, before it hands a connection out
        "OPTIONS": {
            "connect_timeout": 5,
            **dict(parse_qsl(parts.query)),  # as libpq names them: sslmode, target_session_attrs
            "pool": {"min_size": 2, "max_size": 20, "timeout": 5, "reconnect_timeout": 3},
        },
    }


def lease_seconds() -> int:
    """How long a turn stays with a worker that is silent, its locks included."""
    return limit("PLANSIDE_LEASE_SECONDS", 30)


def fingerprint(*folders: Path) -> str:
    """A hash of the names and contents of these files and of all files in these folders."""
    digest = sha256()
    for folder in folders:
        for path in sorted(path for path in (folder, *folder.rglob("*")) if path.is_file()):
            digest.update(str(path.relative_to(folder)).encode() + b"\0" + path.read_bytes())
    return digest.hexdigest()[:12]


def channel_layer(key: str) -> dict[str, object]:
    """REDIS_URL as a channel layer; without it, one in memory.

    Redis has one namespace for all channels, whatever the database's number: the key keeps two
    installations apart.
    """
    url = text("REDIS_URL")
    if not url:
        return {"BACKEND": "channels.layers.InMemoryChannelLayer"}
    if split_url(url).scheme not in ("redis", "rediss"):
        raise ImproperlyConfigured("REDIS_URL must look like redis://host:6379/0.")
    return {
        "BACKEND": "console.live.redis_layer.RedisLayer",
        "CONFIG": {
            "hosts": [{"address": url, "socket_connect_timeout": 2}],
            "prefix": f"planside-{sha256(key.encode()).hexdigest()[:16]}",
        },
    }


made_key = False  # whether this process has made the key: then nothing was lost before it


def secret_key(home: Path) -> str:
    """The key beside the database, made at first start and readable by its owner alone.

    A key that was cut short is refused: sessions could be forged with it.
    """
    global made_key
    path = home / "secret.key"
    try:
        if not path.exists():
            from django.core.management.utils import get_random_secret_key

            home.mkdir(mode=0o700, parents=True, exist_ok=True)
            write_once(path, get_random_secret_key())
            made_key = True
        with path.open("rb") as file:
            key = file.read(LONGEST_KEY).strip()
    except OSError as error:
        unusable = f"PLANSIDE_HOME {home} cannot be used"
        problem = f"{path} cannot be read" if path.exists() else unusable
        raise ImproperlyConfigured(f"{problem}: {os.strerror(error.errno or 0)}.") from None
    if len(key) < SHORTEST_KEY or not key.isascii() or not key.decode().isprintable():
        raise ImproperlyConfigured(
            f"The key in {path} is damaged. Put it back from a backup; or move it away to get a "
            "new one, which ends every session."
        )
    return key.decode()


def write_once(path: Path, text: str) -> None:
    """Whole or not at all, and never over what another process wrote first."""
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}-")
    draft = Path(name)
    try:
        with os.fdopen(handle, "w") as file:
            file.write(text)
        with suppress(FileExistsError):
            path.hardlink_to(draft)
    finally:
        draft.unlink()


def secrets() -> list[str]:
    """What must be kept out of the logs."""
    from django.conf import settings

    urls = [split_url(text(name)) for name in ("DATABASE_URL", "REDIS_URL")]
    passwords = [each for url in urls for each in (url.password, unquote(url.password or ""))]
    keys = [settings.SECRET_KEY, settings.PLANSIDE_METRICS_TOKEN]
    keys += [found.key for found in settings.PROVIDER_KEYS.values()]
    return [each for each in (*keys, *passwords) if each]
