"""The product's settings on a home that lives for one test run."""

import os
import tempfile

from agents.llm.known_providers import KNOWN_PROVIDERS

os.environ["PLANSIDE_HOME"] = tempfile.mkdtemp(prefix="planside-test-")
for known in KNOWN_PROVIDERS:
    for name in (*known.keys, known.address_variable):
        os.environ.pop(name, None)
for name in ("PLANSIDE_MODEL", "DATABASE_URL", "REDIS_URL"):
    os.environ.pop(name, None)

from console import env  # noqa: E402
from console.settings import *  # noqa: E402, F403

PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]
DEMO_PACE = 0
MODEL_RETRY_BASE = 0
# Where no key is wanted; tests put a scripted model there.
PROVIDER_ADDRESSES = {"openai": "http://scripted.invalid/v1"}

if os.environ.get("PLANSIDE_TEST_ON") == "postgres":
    elsewhere = env.postgres(os.environ["TEST_DATABASE_URL"])
    elsewhere["OPTIONS"].pop("pool")  # a test has one connection, and ends what it did on it
    # No test here cuts the power, so the disk need not be waited for at every commit.
    elsewhere["OPTIONS"]["options"] = "-c synchronous_commit=off"
    elsewhere["TEST"] = {"NAME": f"planside_test_{os.getpid()}"}
    DATABASES = {"default": elsewhere}

# A file as in the product: threads that share a database in memory lock each other out.
if DATABASES["default"]["ENGINE"].endswith("sqlite3"):
    DATABASES["default"]["TEST"] = {"NAME": f"{os.environ['PLANSIDE_HOME']}/test.sqlite3"}
    # No test here cuts the power, so the disk need not be waited for at every commit.
    DATABASES["default"]["OPTIONS"]["init_command"] += "PRAGMA synchronous=OFF;"

# As they lie, without being collected.
STATIC_ROOT.mkdir()  # noqa: F405
COLLECTED = STORAGES  # noqa: F405
STORAGES = {"staticfiles": {"BACKEND": "django.contrib.staticfiles.storage.StaticFilesStorage"}}
WHITENOISE_USE_FINDERS = True
