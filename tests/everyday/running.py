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
        festinger(
            own, "everyday", model, FESTINGER_TRUST_LOOPBACK="on", DJANGO_SETTINGS_MODULE="tests.unhurried"
        ) as whole,
    ):
        whole.run(
            "INSERT INTO agent (name, token_hash, scope) VALUES ('operator', %s, 'operator')",
            hashlib.sha256(OPERATOR.encode()).hexdigest(),
        )
        whole.run(UNBOUNDED)
        whole.run("UPDATE config SET value = 'on' WHERE key = 'recall_current'")
        whole.run("UPDATE config SET value = 'sentences' WHERE key = 'recollection_style'")
        with closing(Player(whole, model, OPERATOR)) as plays:
            yield plays
