"""The product's settings on a home that lives for one test run."""

import os
import tempfile

os.environ["PLANSIDE_HOME"] = tempfile.mkdtemp(prefix="planside-test-")
for name in ("OPENAI_API_KEY", "OPENAI_BASE_URL", "PLANSIDE_MODEL", "DATABASE_URL", "REDIS_URL"):
    os.environ.pop(name, None)

from console.settings import *  # noqa: E402, F403

PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]
DEMO_PACE = 0
MODEL_RETRY_BASE = 0
