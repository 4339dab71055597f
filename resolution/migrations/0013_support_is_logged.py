"""Decisions log the supporters that they change."""

from typing import Final

from django.db import migrations

LOG: Final = """
CREATE TRIGGER support_changes_are_logged AFTER INSERT OR UPDATE OR DELETE ON support FOR EACH ROW
    WHEN (coalesce(current_setting('festinger.decision', true), '') <> '')
    EXECUTE FUNCTION decision_logs_change('id');
CREATE TRIGGER forgotten_support_leaves_the_log AFTER DELETE ON support
    REFERENCING OLD TABLE AS gone FOR EACH STATEMENT EXECUTE FUNCTION decision_changes_are_forgotten();
"""
DROP: Final = """
DROP TRIGGER support_changes_are_logged ON support;
DROP TRIGGER forgotten_support_leaves_the_log ON support;
"""


class Migration(migrations.Migration):
    dependencies = [("memory", "0024_support"), ("resolution", "0012_one_lock_for_nightly_jobs")]

    operations = [migrations.RunSQL(LOG, DROP)]
