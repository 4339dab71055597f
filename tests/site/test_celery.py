"""The names of the Celery tasks."""

from festinger_site.celery import app

# A stored format: schedules in the database, and messages that wait in the broker during an upgrade, name tasks so.
NAMES = {
    "festinger_site.tasks.back_up",
    "memory.tasks.deliver_notifications",
    "memory.tasks.embed",
    "memory.tasks.prune",
    "memory.tasks.pulse_of_beat",
    "proxy.tasks.forget_prompt_texts",
    "proxy.tasks.look_at_health",
    "proxy.tasks.prune_events",
    "proxy.tasks.take_figures",
    "resolution.tasks.detect_due",
    "resolution.tasks.explain_concepts",
    "resolution.tasks.learn",
    "resolution.tasks.nightly",
    "resolution.tasks.read_episodes",
    "resolution.tasks.resolve",
    "resolution.tasks.resolve_due",
    "resolution.tasks.sweep",
}


def test_tasks_keep_the_names_that_databases_and_brokers_hold() -> None:
    app.loader.import_default_modules()

    assert {name for name in app.tasks if not name.startswith("celery.")} == NAMES
