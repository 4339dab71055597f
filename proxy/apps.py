from django.apps import AppConfig


class ProxyConfig(AppConfig):
    name = "proxy"
    verbose_name = "Proxy"

    def ready(self) -> None:
        """Also remove forgotten content from the records of what prompts were given, and those of a whole speaker."""
        from memory.memories import forgetting
        from proxy.telemetry.forgetting import STATEMENTS

        forgetting.followers.extend(STATEMENTS)
        forgetting.of_speakers["recollection_event"] = forgetting.SpeakerTable("agent", "person", "request")
