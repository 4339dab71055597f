"""PGMQ, Celery's broker on the same Postgres, installed as plain SQL: no extension, no second service."""

import psycopg
from django.conf import settings
from pgmq import get_embedded_install_sql, install_pgmq_sql
from pgmq.install import get_embedded_sql_version


def install() -> bool:
    """Installs PGMQ where the broker needs it and its schema is absent; True if it did. The installed version
    is kept as the schema's comment, because plain SQL has no other place for it."""
    if not settings.CELERY_BROKER_URL.startswith("pgmq"):
        return False
    with psycopg.connect(settings.DATABASE_URL) as connection:
        if connection.execute("SELECT to_regnamespace('pgmq')").fetchone() != (None,):
            return False
        install_pgmq_sql(get_embedded_install_sql(), conn=connection)
        connection.execute(f"COMMENT ON SCHEMA pgmq IS 'PGMQ {get_embedded_sql_version()}'")
    return True
