from django.apps import AppConfig


class ResolutionConfig(AppConfig):
    name = "resolution"
    verbose_name = "Resolution"

    def ready(self) -> None:
        """Has beat's row follow the setting when an operator changes it; what changes it otherwise is noticed within
        a minute. Has new facts looked at for what they contradict."""
        from memory.admin import settings_audit
        from memory.graph import store
        from resolution.layers.detection import note_facts
        from resolution.resolver import schedule

        settings_audit.followers[schedule.SETTING] = schedule.keep
        store.followers.append(note_facts)
