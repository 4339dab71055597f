"""The work that engram-proxy does while it is idle, done at once; run with the Python that has engram-proxy.

``python engram_store.py``; standard input is JSON: ``database``; ``dates``, pairs of a user's text and when it was
said, in seconds since 1970, oldest first; ``texts``, messages that somebody has sent before.
"""

import asyncio
import json
import sys
import uuid
from typing import Any

import aiohttp
from engram import formation
from engram.config import Config
from engram.recall import Recall
from engram.store import Store
from engram.summarizer import Summarizer, extractive_fallback

OF_A_CONVERSATION = 10  # of the earlier messages


class Idle:
    in_flight = 0
    last_done = 0.0


async def main() -> None:
    work = json.load(sys.stdin)
    config = Config()
    config.db_path = work["database"]
    store = Store(config.db_path, config.embed_dim, config.ann_traces, config.lex_prune_traces)
    async with aiohttp.ClientSession() as http:
        recall = Recall(store, config, http)
        await fill(store, recall, work.get("texts", []))
        summarizer = Summarizer(store, recall, config, http, Idle())
        while await summarizer.tick():
            pass
    store.set_meta("embed_model", f"{config.embed_model}@{config.embed_dim}")  # it need not embed all of them anew
    set_dates(store.db, work.get("dates", []))


async def fill(store: Store, recall: Recall, texts: list[str]) -> None:
    """Store the texts as its summarizer does without a language model."""
    store.db.execute("PRAGMA synchronous=OFF")
    for number, text in enumerate(texts):
        session = uuid.uuid5(uuid.NAMESPACE_OID, str(number // OF_A_CONVERSATION)).hex[:16]
        episode = store.add_episode(session, text, "Understood.", "mock", str(number))
        title, gist = extractive_fallback(text, "Understood.")
        beta = formation.beta(1.0, text, "user")
        vector = await recall.embed(f"{title}. {gist}\n{text[:300]}", timeout=10.0, role="doc")
        store.add_trace(episode, title, gist, session, vector, "extractive", fts_extra=text[:400], beta=beta)
    store.db.execute("DELETE FROM jobs WHERE episode_id IN (SELECT episode_id FROM traces)")
    store.db.commit()


def set_dates(db: Any, dates: list[tuple[str, float]]) -> None:
    """Date the episodes, and what was made of them as if it had been made at once."""
    dated = set[int]()
    for text, at in dates:
        found = [row["id"] for row in db.execute("SELECT id FROM episodes WHERE user_text=? ORDER BY id", (text,))]
        for episode in [each for each in found if each not in dated][:1]:
            dated.add(episode)
            db.execute("UPDATE episodes SET ts=? WHERE id=?", (at, episode))
            values = (at, json.dumps([[at, 1.0]]), episode)
            db.execute("UPDATE traces SET created_ts=?, last8=? WHERE episode_id=?", values)
    db.commit()


if __name__ == "__main__":
    asyncio.run(main())
