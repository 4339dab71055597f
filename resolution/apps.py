from django.apps import AppConfig


class ResolutionConfig(AppConfig):
    name = "resolution"
    verbose_name = "Resolution"
