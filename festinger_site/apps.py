from django.apps import AppConfig


class FestingerSiteConfig(AppConfig):
    name = "festinger_site"

    def ready(self) -> None:
        # Makes celery.current_app ours in every process. Not in __init__.py, as Celery's guide suggests: the launcher
        # and the liveness probe would import Celery, too.
        from festinger_site import celery  # noqa: F401
