"""All settings of Planside. The environment is read here and nowhere else."""

from pathlib import Path

from django.core.exceptions import ImproperlyConfigured

from console import env

BASE_DIR = Path(__file__).resolve().parent.parent
# Templates and static files lie beside the packages in a checkout, in this one in a wheel.
ASSETS_DIR = BASE_DIR if (BASE_DIR / "templates").is_dir() else BASE_DIR / "console"

PLANSIDE_HOME = env.home()
PLANSIDE_HOST = env.text("PLANSIDE_HOST", "127.0.0.1")
PLANSIDE_PORT = env.port("PLANSIDE_PORT", 8000)
PLANSIDE_ALLOWED_HOSTS = env.names("PLANSIDE_ALLOWED_HOSTS")
PLANSIDE_WORKERS = env.one_of("PLANSIDE_WORKERS", "embedded", "external")
PLANSIDE_LEASE_SECONDS = env.lease_seconds()
# Named hosts mean that others reach it, by a proxy on this machine if need be.
PLANSIDE_IS_LOCAL = PLANSIDE_HOST in env.LOOPBACK and not PLANSIDE_ALLOWED_HOSTS
# Where browsers are told to insist on TLS: at this host, its subdomains, or for good by a list.
PLANSIDE_HSTS = env.one_of("PLANSIDE_HSTS", "host", "subdomains", "preload")

# On stderr: lines for a person, or one JSON object a line; debug adds requests and turns.
PLANSIDE_LOG = env.one_of("PLANSIDE_LOG", "text", "json")
PLANSIDE_LOG_LEVEL = env.one_of("PLANSIDE_LOG_LEVEL", "info", "debug", "warning", "error").upper()
# Opens /metrics on a server; on a worker the port serves nothing else.
PLANSIDE_METRICS_TOKEN = env.text("PLANSIDE_METRICS_TOKEN")
PLANSIDE_METRICS_PORT = env.port("PLANSIDE_METRICS_PORT", 0)
# Whether traces may hold what people, models and tools have said.
OTEL_CAPTURE_CONTENT = env.yes("OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT")

# By provider: the key and the variable it stood in, and another address for that key.
PROVIDER_KEYS = env.provider_keys()
PROVIDER_ADDRESSES = env.provider_addresses()
# "provider/model" of new agents. The one shipped at first start names it only where it is set
# here: else its first page asks which model should answer.
PLANSIDE_MODEL_IS_SET = bool(env.text("PLANSIDE_MODEL"))
PLANSIDE_MODEL = env.text(
    "PLANSIDE_MODEL", "openai/gpt-4.1-mini" if "openai" in PROVIDER_KEYS else "demo/docs"
)

# Seconds. A model that is silent for longer than the idle time has not answered.
MODEL_CONNECT_TIMEOUT = env.number("PLANSIDE_MODEL_CONNECT_TIMEOUT", 5)
MODEL_IDLE_TIMEOUT = env.number("PLANSIDE_MODEL_IDLE_TIMEOUT", 120)
MODEL_RETRY_BASE = env.number("PLANSIDE_MODEL_RETRY_BASE", 2)
DEMO_PACE = env.number("PLANSIDE_DEMO_PACE", 1)

# For so long changes of turns can be read line by line and taken back.
KEEP_CHANGES_DAYS = env.limit("PLANSIDE_KEEP_CHANGES_DAYS", 30)

# Limits per person, or for sign-ins per address; console/throttling.py says how they are counted.
# Alone on a machine one is in nobody's way but one's own.
SIGNIN_FAILURES = env.limit("PLANSIDE_SIGNIN_FAILURES", 10)
MESSAGES_PER_MINUTE = env.limit(
    "PLANSIDE_MESSAGES_PER_MINUTE", 60_000 if PLANSIDE_IS_LOCAL else 1_200
)
API_CALLS_PER_MINUTE = env.limit(
    "PLANSIDE_API_CALLS_PER_MINUTE", 600_000 if PLANSIDE_IS_LOCAL else 6_000
)
TESTS_PER_MINUTE = env.limit("PLANSIDE_TESTS_PER_MINUTE", 1_200 if PLANSIDE_IS_LOCAL else 60)
UPLOADS_PER_MINUTE = env.limit("PLANSIDE_UPLOADS_PER_MINUTE", 1_200 if PLANSIDE_IS_LOCAL else 60)
SOCKETS_PER_PERSON = env.limit("PLANSIDE_SOCKETS_PER_PERSON", 2_000)  # in one process

if not PLANSIDE_IS_LOCAL and not PLANSIDE_ALLOWED_HOSTS:
    raise ImproperlyConfigured(
        f"PLANSIDE_HOST is {PLANSIDE_HOST}: name the hosts people use in PLANSIDE_ALLOWED_HOSTS."
    )

SECRET_KEY = env.secret_key(PLANSIDE_HOME)
DEBUG = False
ALLOWED_HOSTS = ["127.0.0.1", "localhost", "[::1]", *map(env.without_port, PLANSIDE_ALLOWED_HOSTS)]
CSRF_TRUSTED_ORIGINS = [f"https://{host}" for host in PLANSIDE_ALLOWED_HOSTS if host != "*"]

INSTALLED_APPS = [
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "django.contrib.staticfiles",
    "channels",
    "django_htmx",
    "agents",
    "plans",
    "console",
]

MIDDLEWARE = [
    "console.ops.metrics.measured",
    "django.middleware.security.SecurityMiddleware",
    "console.middleware.CompressedPages",
    "console.middleware.content_security_policy",
    "console.middleware.kept_private",
    "console.api.errors.plain_errors",
    "console.language.of_browser",
    "console.middleware.readable",
    "console.static_files.StaticFiles",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "console.language.of_person",
    "console.middleware.session_required",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
    "django_htmx.middleware.HtmxMiddleware",
    "console.middleware.MissingPages",
]

ROOT_URLCONF = "console.urls"
ASGI_APPLICATION = "console.asgi.application"

TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "DIRS": [ASSETS_DIR / "templates"],
        "APP_DIRS": False,
        "OPTIONS": {
            "context_processors": [
                "django.template.context_processors.request",
                "django.contrib.auth.context_processors.auth",
                "console.preferences.in_templates",
                "console.needs.in_templates",
            ],
            "builtins": [
                "django.templatetags.i18n",
                "console.templatetags.changes",
                "console.templatetags.components",
                "console.templatetags.formats",
                "console.templatetags.languages",
                "console.templatetags.messages",
                "console.templatetags.plans",
                "console.templatetags.versions",
            ],
        },
    }
]

DATABASES = {"default": env.database(PLANSIDE_HOME)}
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"
CHANNEL_LAYERS = {"default": env.channel_layer(SECRET_KEY)}

AUTH_PASSWORD_VALIDATORS = [
    {"NAME": "django.contrib.auth.password_validation.MinimumLengthValidator"},
    {"NAME": "django.contrib.auth.password_validation.CommonPasswordValidator"},
]
CSRF_FAILURE_VIEW = "console.serving.errors.token_refused"
LOGIN_URL = "/signin/"
LOGIN_REDIRECT_URL = "/"

SESSION_COOKIE_AGE = 60 * 60 * 24 * 30
SESSION_COOKIE_SAMESITE = "Lax"
SESSION_COOKIE_SECURE = CSRF_COOKIE_SECURE = not PLANSIDE_IS_LOCAL
SECURE_SSL_REDIRECT = not PLANSIDE_IS_LOCAL
SECURE_HSTS_SECONDS = 0 if PLANSIDE_IS_LOCAL else 60 * 60 * 24 * 365
SECURE_HSTS_INCLUDE_SUBDOMAINS = PLANSIDE_HSTS in ("subdomains", "preload")
SECURE_HSTS_PRELOAD = PLANSIDE_HSTS == "preload"
SECURE_PROXY_SSL_HEADER = None if PLANSIDE_IS_LOCAL else ("HTTP_X_FORWARDED_PROTO", "https")
SECURE_REFERRER_POLICY = "same-origin"
X_FRAME_OPTIONS = "DENY"
# Of subdomains and lists its owner decides (PLANSIDE_HSTS). On a loopback address there is no TLS
# to demand; the other checks ask for it.
SILENCED_SYSTEM_CHECKS = ["security.W005", "security.W021"]
if PLANSIDE_IS_LOCAL:
    SILENCED_SYSTEM_CHECKS += ["security.W004", "security.W008", "security.W012", "security.W016"]

DATA_UPLOAD_MAX_MEMORY_SIZE = 4 * 1024 * 1024

STATICFILES_DIRS = [ASSETS_DIR / "static"]
STATICFILES_FINDERS = ["django.contrib.staticfiles.finders.FileSystemFinder"]
STORAGES = {"staticfiles": {"BACKEND": "console.static_files.Storage"}}
FINGERPRINT = env.fingerprint(ASSETS_DIR / "static", BASE_DIR / "console" / "static_files.py")
STATIC_URL = "/static/"
STATIC_ROOT = PLANSIDE_HOME / "static"  # filled at the start
FILE_UPLOAD_PERMISSIONS = 0o600
WHITENOISE_KEEP_ONLY_HASHED_FILES = True
WHITENOISE_IMMUTABLE_FILE_TEST = r"\.[0-9a-f]{12}\.\w+$"
WHITENOISE_ALLOW_ALL_ORIGINS = False

LANGUAGE_CODE = "en"
# Each by its own name.
LANGUAGES = [("en", "English"), ("zh-hans", "简体中文")]
LOCALE_PATHS = [BASE_DIR / "console" / "locale"]
USE_I18N = True
TEXTS_FINGERPRINT = env.fingerprint(BASE_DIR / "console" / "locale")
USE_TZ = True
TIME_ZONE = "UTC"

LOGGING = {
    "version": 1,
    "disable_existing_loggers": False,
    "formatters": {"line": {"()": "console.ops.logs.formatter", "as_json": PLANSIDE_LOG == "json"}},
    "filters": {"refused_in_one_line": {"()": "console.ops.logs.OneLineRefusals"}},
    "handlers": {
        "stderr": {
            "class": "logging.StreamHandler",
            "formatter": "line",
            "filters": ["refused_in_one_line"],
        }
    },
    "root": {"handlers": ["stderr"], "level": "WARNING"},
    "loggers": {
        "psycopg.pool": {"level": "ERROR"},  # each try to connect, while we say it once
        "django.request": {"level": "ERROR"},
        "agents": {"level": PLANSIDE_LOG_LEVEL},
        "plans": {"level": PLANSIDE_LOG_LEVEL},
        "console": {"level": PLANSIDE_LOG_LEVEL},
    },
}
