"""Removes forgotten content from the records of what prompts were given."""

from typing import Final

# ``going`` is the table of memory/memories/forgetting.py: kind and row of what is to be forgotten.
OF_REQUESTS: Final = """
    UPDATE recollection_event SET block = '' WHERE block <> '' AND EXISTS (
        SELECT FROM jsonb_array_elements(notes) AS note JOIN going
            ON (going.kind, going.row) = (note ->> 'kind', (note ->> 'id')::bigint)
    )
"""
# A block stays in all later prompts of its conversation, which do not name its notes again.
OF_LATER_REQUESTS: Final = """
    UPDATE recollection_event SET block = '' WHERE block <> '' AND conversation IN (
        SELECT encode(given_note.conversation, 'hex') FROM given_note JOIN going USING (kind, row)
    )
"""
# The texts of the prompts themselves, if they are stored.
OF_PROMPTS: Final = """
    UPDATE recollection_event SET prompt_text = '' WHERE prompt_text <> '' AND conversation IN (
        SELECT encode(episode.conversation, 'hex') FROM episode JOIN going ON kind = 'episode' AND row = id
    )
"""
# Without its block a place counts as empty, even for a process that reloads the conversation.
OF_CONVERSATIONS: Final = """
    UPDATE injection SET block = '', content = '{"facts": [], "questions": [], "notes": [], "states": []}'
    WHERE block <> '' AND EXISTS (
        SELECT FROM jsonb_array_elements(content -> 'notes') AS note JOIN going
            ON (going.kind, going.row) = (note ->> 0, (note ->> 1)::bigint)
    )
"""
STATEMENTS: Final = (OF_REQUESTS, OF_LATER_REQUESTS, OF_PROMPTS, OF_CONVERSATIONS)
