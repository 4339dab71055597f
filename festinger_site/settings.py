"""Django's settings, from the environment only. Settings that operators change while Festinger runs are in
``config.yaml`` (proxy/config/schema.py) and in the ``config`` table (memory/settings/registry.py)."""

import hashlib
import os
from datetime import timedelta

from festinger_site import VERSION as VERSION
from festinger_site import home
from festinger_site.environment import read_environment
from festinger_site.theme import UNFOLD as UNFOLD  # the admin's
from proxy.config.schema import BODY_MAX_BYTES

ENVIRONMENT = read_environment()
ROOT = home.ROOT
MANAGE = home.MANAGE
HOME = home.path()
JOURNAL = HOME / "journal"
IS_LAUNCHED = "FESTINGER_SUPERVISED" in os.environ  # by the launcher, which has checked all this, and starts a worker

# --- the proxy -----------------------------------------------------------------------------------------
FESTINGER_HOST = ENVIRONMENT.FESTINGER_HOST
FESTINGER_PORT = ENVIRONMENT.FESTINGER_PORT
FESTINGER_WORKERS = ENVIRONMENT.FESTINGER_WORKERS
FESTINGER_TRUST_LOOPBACK = ENVIRONMENT.FESTINGER_TRUST_LOOPBACK
FESTINGER_REQUIRE_TOKEN = ENVIRONMENT.FESTINGER_REQUIRE_TOKEN
FESTINGER_ALLOWED_HOSTS = ENVIRONMENT.FESTINGER_ALLOWED_HOSTS
FESTINGER_ORIGINS = ENVIRONMENT.FESTINGER_ORIGINS
# If these two are set, they take precedence over config.yaml (proxy/config/file.py).
FESTINGER_UPSTREAM = ENVIRONMENT.FESTINGER_UPSTREAM
FESTINGER_MODEL = ENVIRONMENT.FESTINGER_MODEL
FESTINGER_MAX_BODY_BYTES = ENVIRONMENT.FESTINGER_MAX_BODY_BYTES
CONFIG_FILE = home.config_path()
# A name, not an import: memory calls models of Festinger's own upstream, and must not import the proxy.
UPSTREAM_URL = "proxy.config.file.upstream_url"

# --- Django --------------------------------------------------------------------------------------------
SECRET_KEY = ENVIRONMENT.FESTINGER_SECRET_KEY or home.ensure_secret("secret_key")
# The first key encrypts the API keys of language models, all keys decrypt; without any, memory/access/key_encryption.py
# keeps a file in the home.
ENCRYPTION_KEYS = ENVIRONMENT.FESTINGER_ENCRYPTION_KEY
DEBUG = False
# proxy/access/guard.py has checked Host and Origin before Django sees a request.
ALLOWED_HOSTS = ["*"]
# Bodies are bounded before Django sees them, by the current limit in config.yaml.
DATA_UPLOAD_MAX_MEMORY_SIZE = BODY_MAX_BYTES
DATA_UPLOAD_MAX_NUMBER_FIELDS = 2_000  # a list asks first about 1,000 rows, each a field
FILE_UPLOAD_MAX_MEMORY_SIZE = BODY_MAX_BYTES  # a prompt's body stays in memory
FILE_UPLOAD_HANDLERS = ["django.core.files.uploadhandler.TemporaryFileUploadHandler"]  # an uploaded file does not

INSTALLED_APPS = [
    "unfold",
    "unfold.contrib.filters",
    "django.contrib.admin.apps.SimpleAdminConfig",  # its pages are found by urls.py: only a server needs them
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "django.contrib.messages",
    "django.contrib.staticfiles",
    "django_celery_beat",
    "ninja",
    "festinger_site",
    "memory",
    "resolution",
    "proxy",
]

# Only Unfold's search would keep anything: for five minutes, also what was forgotten meanwhile.
CACHES = {"default": {"BACKEND": "django.core.cache.backends.dummy.DummyCache"}}

# Names of our own, which never go to the upstream (proxy/upstream/headers.py), on the one path that needs them: cookies
# are not bound to a port, and other programs of this machine would get them, too.
SESSION_COOKIE_NAME, CSRF_COOKIE_NAME = "festinger_session", "festinger_csrf"
SESSION_COOKIE_PATH = CSRF_COOKIE_PATH = "/admin/"
CSRF_COOKIE_HTTPONLY = True  # no script of ours reads it
MESSAGE_STORAGE = "django.contrib.messages.storage.session.SessionStorage"

# For the admin and Festinger's own endpoints; prompts pass none of them (festinger_site/asgi.py).
MIDDLEWARE = [
    "festinger_site.serve.middleware.restrict_pages",
    "festinger_site.serve.middleware.json_method_not_allowed",
    "django.middleware.security.SecurityMiddleware",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
    "festinger_site.serve.middleware.redirect_lost_post",
]

# The id of this Festinger in a Via header; the same in all its processes.
INSTANCE = "festinger-" + hashlib.sha256(SECRET_KEY.encode()).hexdigest()[:12]

ROOT_URLCONF = "festinger_site.urls"
ASGI_APPLICATION = "festinger_site.asgi.application"
LOGOUT_REDIRECT_URL = "admin:login"
LOGIN_REDIRECT_URL = "admin:index"  # after the login page itself, which is shown after logging out
APPEND_SLASH = False  # a path without a slash must reach the upstream as it is, not become a redirect
TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "DIRS": [ROOT / "templates"],
        "APP_DIRS": True,
        "OPTIONS": {
            "builtins": ["memory.templatetags.times"],
            "context_processors": [
                "django.template.context_processors.request",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
            ],
        },
    }
]

DATABASE_URL = ENVIRONMENT.DATABASE_URL or home.local_database_url()
DATABASES = {"default": home.django_database(DATABASE_URL)}
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"

LANGUAGE_CODE = "en"
TIME_ZONE = ENVIRONMENT.FESTINGER_TIME_ZONE
USE_TZ = True
USE_I18N = False
FORMAT_MODULE_PATH = "festinger_site.formats"
STATIC_URL = "/static/"

# --- mail, of notifications only -----------------------------------------------------------------------
EMAIL_HOST = ENVIRONMENT.FESTINGER_EMAIL_URL.host
EMAIL_PORT = ENVIRONMENT.FESTINGER_EMAIL_URL.port
EMAIL_HOST_USER = ENVIRONMENT.FESTINGER_EMAIL_URL.user
EMAIL_HOST_PASSWORD = ENVIRONMENT.FESTINGER_EMAIL_URL.password
EMAIL_USE_TLS = ENVIRONMENT.FESTINGER_EMAIL_URL.scheme == "smtp+tls"
EMAIL_USE_SSL = ENVIRONMENT.FESTINGER_EMAIL_URL.scheme == "smtps"
EMAIL_TIMEOUT = 10
DEFAULT_FROM_EMAIL = ENVIRONMENT.FESTINGER_EMAIL_FROM

# --- Celery: wake-ups only, the tables are the queue of record -----------------------------------------
CELERY_BROKER_URL = ENVIRONMENT.CELERY_BROKER_URL
CELERY_BROKER_TRANSPORT_OPTIONS = home.broker_options(CELERY_BROKER_URL, DATABASE_URL)
CELERY_BROKER_CONNECTION_RETRY_ON_STARTUP = True
CELERY_TASK_IGNORE_RESULT = True
CELERY_WORKER_ENABLE_REMOTE_CONTROL = False
CELERY_WORKER_HIJACK_ROOT_LOGGER = False
CELERY_WORKER_SEND_TASK_EVENTS = False
CELERY_TIMEZONE = TIME_ZONE
CELERY_BEAT_SCHEDULER = "django_celery_beat.schedulers:DatabaseScheduler"
DJANGO_CELERY_BEAT_TZ_AWARE = True
# Longer than a batch of statements takes on a busy machine; claims of a dead worker wait as long.
OBSERVATION_LEASE = timedelta(seconds=30)

LOGGING = {
    "version": 1,
    "disable_existing_loggers": False,
    "filters": {
        "in a line": {"()": "festinger_site.serve.log_format.InALine"},
        "named": {"()": "festinger_site.serve.log_format.NameRequest"},
        "task in a line": {"()": "festinger_site.serve.log_format.TaskInALine"},
    },
    "formatters": {
        "text": {"()": "festinger_site.serve.log_format.FactsFormatter"},
        "json": {"()": "festinger_site.serve.log_format.JsonFormatter"},
    },
    "handlers": {
        "stderr": {
            "class": "logging.StreamHandler",
            "formatter": ENVIRONMENT.FESTINGER_LOG_FORMAT,
            "filters": ["named"],
        }
    },
    "root": {"handlers": ["stderr"], "level": "WARNING"},
    "loggers": {
        name: {"level": ENVIRONMENT.FESTINGER_LOG_LEVEL} for name in ("festinger_site", "memory", "resolution", "proxy")
    }
    # A refused request is answered, not warned about.
    | {"django.request": {"level": "ERROR", "filters": ["in a line"]}}
    | {"uvicorn.error": {"level": "INFO"}}
    | {"celery.app.trace": {"filters": ["task in a line"]}},
}
