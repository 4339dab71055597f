from django.apps import AppConfig


class ResolutionConfig(AppConfig):
    name = "resolution"
    verbose_name = "Resolution"

    def ready(self) -> None:
        """Register conflict detection for new facts, and the candidates that are forgotten with their speaker."""
        from memory.graph import store
        from memory.semantic import forgetting
        from resolution.layers.detection import note_facts

        store.followers.append(note_facts)
        forgetting.of_speakers["edge_candidate"] = ("for_speaker", "for_person")
