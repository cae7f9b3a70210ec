"""Settings. The defaults serve one person on a laptop; environment variables grow it into a team's site.

| variable | meaning |
|---|---|
| `KERNELSITE_VAR` | folder for everything made at run time; `var/` beside the code by default |
| `DATABASE_URL` | PostgreSQL; SQLite in `var/` by default |
| `REDIS_URL` | broker and doorbell; the embedded server's socket in `var/` by default |
| `KERNELSITE_SECRET_KEY` | signing key; made once and kept in `var/secret_key` by default |
| `KERNELSITE_HOSTS` | names under which the site is reached, comma-separated, besides this machine's own |
| `KERNELSITE_HTTPS` | `1` when it is reached by https only: secure cookies, HSTS, hashed static files |
| `KERNELSITE_PROXIES` | number of reverse proxies in front, whose forwarding headers are believed; 0 by default |
| `KERNELSITE_SITE_URL` | address of the site as people type it, for links in mails and webhooks; `up` gives its own |
| `KERNELSITE_MAIL` | mail server, e.g. `smtp+tls://user:password@host:587`, `smtps://` or `smtp://`; mails are files in `var/mail` by default |
| `KERNELSITE_MAIL_FROM` | sender of mails |
| `KERNELSITE_MODEL_HOSTS` | hosts that model endpoints and webhooks may name: `public`, `loopback` (this machine too) or `private` (any network); `loopback` by default where only this machine reaches the site, else `public` |
| `KERNELSITE_MODEL_KEY_SECRETS` | words that seal providers' keys, newest first, comma-separated; the signing key by default |
| `KERNELSITE_SHARING` | `0` closes every share link, whatever admins say; `1` by default |
| `KERNELSITE_LOG_LEVEL` | `INFO` by default |
| `KERNELSITE_<NAME>` | any limit of `kernelsite/searches/limits.py`, e.g. `KERNELSITE_DRIVER_LEASE_S` |
"""

from __future__ import annotations

import hashlib
import os
import secrets
import tempfile
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

import dj_database_url


def _flag(name: str) -> bool:
    return os.environ.get(name, "").lower() in {"1", "true", "yes", "on"}


def _list(name: str) -> list[str]:
    return [word.strip() for word in os.environ.get(name, "").split(",") if word.strip()]


BASE_DIR = Path(__file__).resolve().parent.parent
VAR = Path(os.environ.get("KERNELSITE_VAR") or BASE_DIR / "var").resolve()
HTTPS = _flag("KERNELSITE_HTTPS") or _flag("KERNELSITE_PRODUCTION_CHECK")
PROXIES = int(os.environ.get("KERNELSITE_PROXIES") or 0)


def _secret_key(file: Path) -> str:
    """The key in the file, made on first use; of two processes that start together, one makes it."""
    if not file.exists():
        file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        handle, draft = tempfile.mkstemp(dir=file.parent, prefix=".secret_key")
        with os.fdopen(handle, "w") as stream:
            stream.write(secrets.token_urlsafe(64))
        try:
            os.link(draft, file)
        except FileExistsError:  # another process was faster, and its key counts
            pass
        Path(draft).unlink()
    return file.read_text()


def _socket(folder: Path) -> Path:
    """Where the embedded server listens. The kernel allows 107 bytes, which a deep checkout exceeds."""
    file = folder / "redis.sock"
    if len(os.fsencode(file)) <= 100:
        return file
    digest = hashlib.sha256(os.fsencode(folder)).hexdigest()[:16]
    return Path(tempfile.gettempdir()) / f"kernelsite-{os.getuid()}-{digest}" / "redis.sock"


SECRET_KEY = os.environ.get("KERNELSITE_SECRET_KEY") or _secret_key(VAR / "secret_key")
DEBUG = False
if "*" in _list("KERNELSITE_HOSTS"):
    raise ValueError(
        "KERNELSITE_HOSTS names hosts: with * any site could open live connections as your people"
    )
ALLOWED_HOSTS = ["localhost", "127.0.0.1", "[::1]", *_list("KERNELSITE_HOSTS")]

# Apps and requests --------------------------------------------------------------------------------

INSTALLED_APPS = [
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "django.contrib.messages",
    "django.contrib.staticfiles",
    "channels",
    "kernelsite.accounts",
    "kernelsite.catalog",
    "kernelsite.fleet",
    "kernelsite.endpoints",
    "kernelsite.notices",
    "kernelsite.searches",
    "kernelsite.compare",
    "kernelsite.reviews",
    "kernelsite.shares",
    "kernelsite.ops",
]

MIDDLEWARE = [
    "django.middleware.security.SecurityMiddleware",
    "kernelsite.ops.headers.headers",
    "kernelsite.ops.nul.refuse_nul",
    "whitenoise.middleware.WhiteNoiseMiddleware",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    # Every page asks for a log-in unless its view says otherwise.
    "django.contrib.auth.middleware.LoginRequiredMiddleware",
    "kernelsite.accounts.middleware.team",
    "kernelsite.compare.views_kept.opens_kept",
    "django.contrib.messages.middleware.MessageMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
]

ROOT_URLCONF = "kernelsite.urls"
ASGI_APPLICATION = "kernelsite.asgi.application"

TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "DIRS": [BASE_DIR / "templates"],
        "APP_DIRS": False,
        "OPTIONS": {
            "context_processors": [
                "django.template.context_processors.request",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
            ],
        },
    },
]

# Database -------------------------------------------------------------------------------------------

SQLITE_OPTIONS: dict[str, Any] = {
    "timeout": 20,
    # A deferred transaction that turns into a writer fails at once when another writer is ahead.
    "transaction_mode": "IMMEDIATE",
    "init_command": "PRAGMA journal_mode=WAL; PRAGMA synchronous=NORMAL;",
}


def _database(url: str) -> dict[str, Any]:
    if not url:
        VAR.mkdir(mode=0o700, parents=True, exist_ok=True)
        url = f"sqlite:///{VAR / 'db.sqlite3'}"
    config: dict[str, Any] = dict(dj_database_url.parse(url, conn_health_checks=True))
    if config["ENGINE"].endswith("sqlite3"):
        config["OPTIONS"] = SQLITE_OPTIONS | config.get("OPTIONS", {})
    return config


DATABASES = {"default": _database(os.environ.get("DATABASE_URL", ""))}
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"

# Broker and doorbell ----------------------------------------------------------------------------------

EMBEDDED_SOCKET = _socket(VAR)
REDIS_URL = os.environ.get("REDIS_URL") or f"unix://{EMBEDDED_SOCKET}"

CHANNEL_LAYERS = {
    "default": {
        "BACKEND": "channels_redis.core.RedisChannelLayer",
        "CONFIG": {
            "hosts": [REDIS_URL],
            "prefix": "ks",
            # A lost bell costs milliseconds, since clients pull what they lack from the database.
            "capacity": 2000,
            "expiry": 15,
            "group_expiry": 46800,
        },
    },
}

CELERY_BROKER_URL = REDIS_URL.replace("unix://", "redis+socket://", 1)
CELERY_BROKER_TRANSPORT_OPTIONS = {
    "visibility_timeout": 3600,
    "socket_timeout": 30,
    "socket_keepalive": True,
    "health_check_interval": 25,
}
CELERY_BROKER_CONNECTION_RETRY_ON_STARTUP = True
CELERY_BROKER_CONNECTION_MAX_RETRIES = None
CELERY_TASK_PUBLISH_RETRY_POLICY = {
    "max_retries": 2,
    "interval_start": 0,
    "interval_step": 0.1,
    "interval_max": 0.3,
}
CELERY_TASK_SERIALIZER = CELERY_RESULT_SERIALIZER = "json"
CELERY_ACCEPT_CONTENT = CELERY_RESULT_ACCEPT_CONTENT = ["json"]
CELERY_TASK_IGNORE_RESULT = True
CELERY_TASK_DEFAULT_QUEUE = "control"
# Acknowledge early: what a dead worker held is found from rows by the sweeper, never by redelivery.
CELERY_TASK_ACKS_LATE = False
CELERY_TASK_REJECT_ON_WORKER_LOST = False
CELERY_WORKER_PREFETCH_MULTIPLIER = 1
CELERY_WORKER_CANCEL_LONG_RUNNING_TASKS_ON_CONNECTION_LOSS = False
CELERY_WORKER_MAX_TASKS_PER_CHILD = 500
CELERY_WORKER_HIJACK_ROOT_LOGGER = False
CELERY_TASK_SOFT_TIME_LIMIT, CELERY_TASK_TIME_LIMIT = 70, 90
CELERY_TASK_ANNOTATIONS = {"searches.propose": {"soft_time_limit": 600, "time_limit": 630}}
CELERY_TIMEZONE = "UTC"

# Limits of searches, by the field names of `kernelsite.searches.limits.Limits` -------------------------

_LIMITS = {
    "driver_lease_s": float,
    "evaluation_lease_s": float,
    "agent_lease_s": float,
    "room_s": float,
    "resend_after_s": float,
    "sweep_interval_s": float,
    "slice_s": float,
    "attempts": int,
    "evaluation_deadline_s": float,
}
KERNELSITE = {
    name: kind(os.environ[variable])
    for name, kind in _LIMITS.items()
    if (variable := f"KERNELSITE_{name.upper()}") in os.environ
}

DEVICE_SILENCE_S = float(os.environ.get("KERNELSITE_DEVICE_SILENCE_S") or 30)
"""A device says hello every 10 s; after this much silence it counts as offline."""

VALIDATION_LEASE_S = float(os.environ.get("KERNELSITE_VALIDATION_LEASE_S") or 45)
"""A worker that validates a workload says so every 5 s; after this much silence another attempt is made."""
VALIDATION_REFERENCE_S = float(os.environ.get("KERNELSITE_VALIDATION_REFERENCE_S") or 120)
"""A reference that takes longer on a case hangs."""

# Models -------------------------------------------------------------------------------------------

_SOLO = not HTTPS and not _list("KERNELSITE_HOSTS")
MODEL_HOSTS = os.environ.get("KERNELSITE_MODEL_HOSTS") or ("loopback" if _SOLO else "public")
if MODEL_HOSTS not in {"public", "loopback", "private"}:
    raise ValueError(f"KERNELSITE_MODEL_HOSTS is {MODEL_HOSTS!r}: write public, loopback or private")
MODEL_KEY_SECRETS = _list("KERNELSITE_MODEL_KEY_SECRETS") or [SECRET_KEY]

# Share links: the operator's word stands above the switches of admins --------------------------------

SHARING = os.environ.get("KERNELSITE_SHARING", "1").lower() not in {"0", "false", "no", "off"}

# People ---------------------------------------------------------------------------------------------

SESSION_ENGINE = "kernelsite.accounts.session_store"
PASSWORD_RESET_TIMEOUT = 3600
AUTH_PASSWORD_VALIDATORS = [
    {"NAME": f"django.contrib.auth.password_validation.{name}"}
    for name in (
        "UserAttributeSimilarityValidator",
        "MinimumLengthValidator",
        "CommonPasswordValidator",
        "NumericPasswordValidator",
    )
]
LOGIN_URL = "accounts:login"
LOGIN_REDIRECT_URL = "/"
LOGOUT_REDIRECT_URL = "accounts:login"

# Mail: written into a folder until a server is named --------------------------------------------------

SITE_URL = (os.environ.get("KERNELSITE_SITE_URL") or "http://localhost:8000").rstrip("/")
"""Root of the links in mails and webhooks; never taken from a request, whose Host header is a stranger's."""
_MAIL = urlsplit(os.environ.get("KERNELSITE_MAIL") or "folder:")
if _MAIL.scheme not in {"folder", "smtp", "smtp+tls", "smtps"}:
    raise ValueError("KERNELSITE_MAIL looks like smtp+tls://user:password@host:587, smtps:// or smtp://")
EMAIL_BACKEND = (
    f"django.core.mail.backends.{'filebased' if _MAIL.scheme == 'folder' else 'smtp'}.EmailBackend"
)
EMAIL_FILE_PATH = VAR / "mail"
EMAIL_HOST, EMAIL_PORT = _MAIL.hostname or "localhost", _MAIL.port or (465 if _MAIL.scheme == "smtps" else 25)
EMAIL_HOST_USER, EMAIL_HOST_PASSWORD = unquote(_MAIL.username or ""), unquote(_MAIL.password or "")
EMAIL_USE_TLS, EMAIL_USE_SSL = _MAIL.scheme == "smtp+tls", _MAIL.scheme == "smtps"
EMAIL_TIMEOUT = 20
DEFAULT_FROM_EMAIL = (
    os.environ.get("KERNELSITE_MAIL_FROM") or f"Kernelsite <kernelsite@{urlsplit(SITE_URL).hostname}>"
)

# Static files: hashed names where they were collected, straight from their folders on a laptop ----------

STATIC_URL = "static/"
# Without https nothing is collected; WhiteNoise would warn of a folder that is not there.
STATIC_ROOT = BASE_DIR / "staticfiles" if HTTPS else None
STATICFILES_DIRS = [BASE_DIR / "static"]
STATICFILES_FINDERS = [
    "django.contrib.staticfiles.finders.FileSystemFinder",
]
STORAGES = {
    "default": {"BACKEND": "django.core.files.storage.FileSystemStorage"},
    "staticfiles": {
        "BACKEND": "kernelsite.ops.storage.HashedModuleStorage"
        if HTTPS
        else "django.contrib.staticfiles.storage.StaticFilesStorage"
    },
}
WHITENOISE_USE_FINDERS = not HTTPS
WHITENOISE_ALLOW_ALL_ORIGINS = False
MEDIA_ROOT = VAR / "media"

# Security -------------------------------------------------------------------------------------------

SECURE_SSL_REDIRECT = SESSION_COOKIE_SECURE = CSRF_COOKIE_SECURE = HTTPS
SECURE_REDIRECT_EXEMPT = [r"^healthz$", r"^readyz$"]
SECURE_HSTS_SECONDS = 365 * 24 * 3600 if HTTPS else 0
SECURE_HSTS_INCLUDE_SUBDOMAINS = SECURE_HSTS_PRELOAD = HTTPS
SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https") if PROXIES else None
SESSION_COOKIE_NAME, CSRF_COOKIE_NAME = "kernelsite_session", "kernelsite_csrf"
CSRF_COOKIE_HTTPONLY = False  # live pages send it with their posts
X_FRAME_OPTIONS = "DENY"
DATA_UPLOAD_MAX_MEMORY_SIZE = 2 * 1024 * 1024
DATA_UPLOAD_MAX_NUMBER_FILES = 1000  # of a folder; larger ones come as an archive

# Language, time, log ----------------------------------------------------------------------------------

LANGUAGE_CODE = "en"
USE_I18N = False
USE_TZ = True
TIME_ZONE = "UTC"

LOGGING = {
    "version": 1,
    "disable_existing_loggers": False,
    "filters": {"secrets": {"()": "kernelsite.ops.logs.SecretsFilter"}},
    "formatters": {"line": {"format": "{asctime} {levelname} {name}: {message}", "style": "{"}},
    "handlers": {"stderr": {"class": "logging.StreamHandler", "formatter": "line", "filters": ["secrets"]}},
    "root": {"handlers": ["stderr"], "level": os.environ.get("KERNELSITE_LOG_LEVEL") or "INFO"},
    "loggers": {
        "django": {"handlers": [], "propagate": True},
        "django.server": {"handlers": [], "propagate": True},
        "daphne": {"level": "WARNING"},
        "httpx2": {"level": "WARNING"},
    },
}
