from django.apps import AppConfig


class ProxyConfig(AppConfig):
    name = "proxy"
    verbose_name = "Proxy"

    def ready(self) -> None:
        """Has what is forgotten taken out of what prompts were given, too."""
        from memory.semantic import forgetting
        from proxy.telemetry.forgetting import forget_given

        forgetting.followers.append(forget_given)
