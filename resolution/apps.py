from django.apps import AppConfig


class ResolutionConfig(AppConfig):
    name = "resolution"
    verbose_name = "Resolution"

    def ready(self) -> None:
        """Has new facts looked at for what they contradict, and what holds for a speaker alone forgotten with it."""
        from memory.graph import store
        from memory.semantic import forgetting
        from resolution.layers.detection import note_facts

        store.followers.append(note_facts)
        forgetting.of_speakers["edge_candidate"] = ("for_speaker", "for_person")
