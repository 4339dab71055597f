"""Takes what is forgotten out of what is told of prompts that were given it."""

from typing import Any, Final

# ``going`` is the table of memory/semantic/forgetting.py: kind and row of what goes.
OF_REQUESTS: Final = """
    UPDATE recollection_event SET block = '' WHERE block <> '' AND EXISTS (
        SELECT FROM jsonb_array_elements(notes) AS note JOIN going
            ON (going.kind, going.row) = (note ->> 'kind', (note ->> 'id')::bigint)
    )
"""
# Without its block a place counts as empty, also for a process that loads the conversation anew.
OF_CONVERSATIONS: Final = """
    UPDATE injection SET block = '', content = '{"facts": [], "questions": []}' WHERE block <> '' AND EXISTS (
        SELECT FROM jsonb_array_elements(content -> 'notes') AS note JOIN going
            ON (going.kind, going.row) = (note ->> 0, (note ->> 1)::bigint)
    )
"""


def forget_given(cursor: Any) -> None:
    cursor.execute(OF_REQUESTS)
    cursor.execute(OF_CONVERSATIONS)
