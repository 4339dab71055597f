"""Deletes the rows of settings that are constants now, where nobody has changed them: what is left is told."""

from django.apps.registry import Apps
from django.db import migrations
from django.db.backends.base.schema import BaseDatabaseSchemaEditor

DEFAULTS = {
    "resolution_trigger": "schedule",
    "resolution_delay_minutes": "5.0",
    "resolution_max_changes": "200",
    "detective_delay_minutes": "10.0",
    "detective_survival_day": "0.3",
    "detective_survival_week": "0.15",
    "detective_survival_older": "0.075",
    "llm_resolver_share": "0.3",
    "llm_memory_share": "0.05",
    "llm_detective_share": "0.2",
    "recollection_recency_exempt": "gutask,operator",
    "recollection_max_concepts": "8",
    "recollection_max_state_tokens": "150",
    "recollection_max_memory_tokens": "200",
    "recollection_max_episode_tokens": "300",
    "recall_deadline_ms": "100",
    "recall_share": "100",
    "recollection_style_by_model": "",
    "questions_per_conversation_max": "3",
    "enrichment_max_characters": "100000",
    "enrichment_max_ms": "50.0",
    "quota_candidates_per_hour": "500",
    "quota_memories_per_hour": "100",
    "quota_gutask_per_hour": "2000",
    "quota_explanations_per_hour": "20",
    "new_words_per_message_max": "500",
    "vocabulary_max": "1000000",
    "facts_per_concept_max": "64",
    "conflict_members_max": "10",
    "new_dimensions_per_concept_max": "5",
    "recency_half_life_days": "14.0",
    "extraction_max_calls": "10",
    "vector_episodes_max": "200000",
}


def delete_defaults(apps: Apps, schema_editor: BaseDatabaseSchemaEditor) -> None:
    config = apps.get_model("memory", "Config")
    for key, value in DEFAULTS.items():
        config.objects.filter(key=key, value=value).delete()


class Migration(migrations.Migration):
    dependencies = [
        ("memory", "0020_given_notes_without_use"),
    ]

    operations = [
        migrations.RunPython(delete_defaults, migrations.RunPython.noop),
    ]
