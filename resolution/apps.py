from django.apps import AppConfig


class ResolutionConfig(AppConfig):
    name = "resolution"
    verbose_name = "Resolution"

    def ready(self) -> None:
        """Has new facts looked at for what they contradict."""
        from memory.graph import store
        from resolution.layers.detection import note_facts

        store.followers.append(note_facts)
