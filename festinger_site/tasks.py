"""Background work of the installation itself."""

import logging

from celery import shared_task
from django.utils import timezone

from festinger_site.care.backup import BackupFailed, back_up, delete_old, name_backup
from memory.db.locks import try_job_lock
from memory.models import Config, NotificationEvent
from memory.notifications.outbox import Notice, announce

logger = logging.getLogger(__name__)


@shared_task(name="festinger_site.tasks.back_up")
def back_up_nightly() -> None:
    kept = Config.tuning().backups_kept
    with try_job_lock("backup") as is_alone:
        if not is_alone or not kept:
            return
        file = name_backup(timezone.localtime())
        try:
            manifest = back_up(file)
        except BackupFailed as failed:
            logger.error("backup.failed", extra={"error": str(failed)})
            announce(
                NotificationEvent.RUN_FAILED,
                [Notice(f"The nightly backup has failed: {failed}", {"trigger": "backup"})],
            )
            return
        deleted = delete_old(file.parent, kept)
    facts = {"file": str(file), "rows": sum(manifest.rows.values()), "deleted": len(deleted)}
    logger.info("backup.done", extra=facts)
