"""Wiring: settings, urls, the ASGI application, the Celery application, starting and stopping."""

VERSION = "0.3.0"
