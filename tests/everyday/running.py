"""A whole Festinger for the player, of a home and a database of its own."""

import hashlib
from collections.abc import Iterator
from contextlib import closing, contextmanager

from tests.everyday.player import Model, Player
from tests.served.learning import festinger
from tests.served.postgres import OwnPostgres

OPERATOR = "fst_" + hashlib.sha256(b"everyday").hexdigest()
# All rows come from one address, whose quotas they would share.
UNBOUNDED = "UPDATE config SET value = '1000000' WHERE key LIKE 'quota_%%'"


@contextmanager
def player() -> Iterator[Player]:
    with (
        OwnPostgres() as own,
        Model() as model,
        festinger(own, "everyday", model, FESTINGER_TRUST_LOOPBACK="on") as whole,
    ):
        whole.run(
            "INSERT INTO agent (name, token_hash, scope) VALUES ('operator', %s, 'operator')",
            hashlib.sha256(OPERATOR.encode()).hexdigest(),
        )
        whole.run(UNBOUNDED)
        whole.run("UPDATE config SET value = '100' WHERE key = 'recall_share'")
        whole.run("UPDATE config SET value = 'sentences' WHERE key = 'recollection_style'")
        # A busy machine changes no outcome.
        whole.run("UPDATE config SET value = '2000' WHERE key = 'recall_deadline_ms'")
        with closing(Player(whole, model, OPERATOR)) as plays:
            yield plays
