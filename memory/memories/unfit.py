"""Stores that an operator wants a memory or a message in no prompts like some earlier ones."""

from collections.abc import Sequence

from django.db import connection

from memory.cache.sync import CHANNEL
from memory.channels import Channel
from memory.db.transactions import in_transaction
from memory.models import Episode, Memory, MemoryHistory


@in_transaction
def set_unfit(row: Memory | Episode, prompts: Sequence[int], actor: str) -> None:
    """Inject the row into no prompts like these messages. Each process reads it anew for its searches."""
    type(row)._default_manager.filter(pk=row.pk).update(unfit_for=list(prompts))
    if isinstance(row, Memory):
        told = f"in no prompt like message {', '.join(map(str, prompts))}" if prompts else "in all prompts again"
        MemoryHistory.objects.create(
            memory=row, action=MemoryHistory.Action.EDIT, actor=actor, channel=Channel.OPERATOR, reason=told
        )
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_notify(%s, %s)", [CHANNEL, f"{row._meta.db_table}_vector:{row.pk}"])
