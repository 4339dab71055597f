from typing import Final

from django.apps import AppConfig

# The log is append-only, except for what is forgotten.
FORGET_LOG: Final = """
    SET LOCAL festinger.redacting = 'on';
    UPDATE decision_change SET before = NULL, after = NULL, is_forgotten = true WHERE table_name = 'memory'
        AND strpos(lower(concat_ws(' ', before ->> 'text', after ->> 'text')), lower(%(words)s)) > 0;
    SET LOCAL festinger.redacting = 'off'
"""


class ResolutionConfig(AppConfig):
    name = "resolution"
    verbose_name = "Resolution"

    def ready(self) -> None:
        """Register conflict detection for new facts, and what else is forgotten with a speaker or with words."""
        from memory.graph import store
        from memory.learning import setting_aside
        from memory.memories import forgetting
        from resolution import quarantine
        from resolution.conflicts.detection import note_facts

        store.followers.append(note_facts)
        forgetting.of_speakers["edge_candidate"] = forgetting.SpeakerTable(
            "for_speaker", "for_person", "candidate", "concat_ws(' ', concept, dimension, parent)"
        )
        forgetting.of_whole_speakers.append(quarantine.forget_facts)
        forgetting.of_words.append(FORGET_LOG)
        setting_aside.tables["edge_candidate"] = setting_aside.Table(
            "((for_speaker, for_person) = (%(agent)s, %(person)s) OR for_speaker = '' AND %(person)s = ''"
            " AND jsonb_array_length(voices) = 1 AND voices -> 0 ->> 0 = %(agent)s)",
            "concat_ws(' ', evidence, concept, parent)",
            "last_said_at",
            # As an expired one it waits again when it is said again.
            aside=", state = CASE state WHEN 'open' THEN 'expired' ELSE state END",
            back=", state = CASE state WHEN 'expired' THEN 'open' ELSE state END",
        )
