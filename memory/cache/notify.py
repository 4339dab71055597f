"""Says something on the channel that keeps the caches in step, from where Django's connection is at work."""

from asgiref.sync import sync_to_async
from django.db import connection

from memory.cache.sync import CHANNEL


@sync_to_async
def announce(payload: str) -> None:
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_notify(%s, %s)", [CHANNEL, payload])
