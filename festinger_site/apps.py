from django.apps import AppConfig


class FestingerSiteConfig(AppConfig):
    name = "festinger_site"

    def ready(self) -> None:
        from festinger_site import celery  # noqa: F401  so that celery.current_app is ours in every process
