"""Wiring: settings, urls, the ASGI application, the Celery application, starting and stopping."""

from festinger_site.celery import app as celery_app

__all__ = ("celery_app",)
