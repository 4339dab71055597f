import os
import subprocess

import pytest

from festinger_site import home as homes
from festinger_site.environment import EnvironmentMistake
from festinger_site.run import postgres_cluster
from festinger_site.run.postgres_account import PostgresFailed, as_user, run_to_end
from festinger_site.run.programs import programs


@pytest.fixture
def home(tmp_path):
    """A home with the outline of a database that this version made, and that does not run."""
    (tmp_path / "postgres").mkdir()
    (tmp_path / "postgres" / "PG_VERSION").write_text("18\n")
    yield tmp_path
    postgres_cluster.remove(tmp_path)


def test_a_lock_whose_process_id_is_somebody_elses_by_now_is_removed(home):
    lock = home / "postgres" / "postmaster.pid"
    lock.write_text(f"{os.getpid()}\n")

    postgres_cluster.ensure_cluster(home)

    assert not lock.exists()


def test_a_database_of_another_major_version_is_refused(home):
    (home / "postgres" / "PG_VERSION").write_text("17\n")

    with pytest.raises(PostgresFailed, match=r"created by PostgreSQL 17; this Festinger brings 18"):
        postgres_cluster.ensure_cluster(home)


def test_a_socket_folder_that_is_no_folder_of_ours_is_refused(home):
    run_folder = homes.run_folder(home)
    run_folder.symlink_to(home)

    with pytest.raises(EnvironmentMistake, match="remove it and start again"):
        postgres_cluster.ensure_cluster(home)

    run_folder.unlink()


def test_nothing_runs_in_a_home_that_was_never_used(tmp_path):
    assert not postgres_cluster.is_running(tmp_path)
    assert postgres_cluster.processes(tmp_path) == []


def test_the_server_gets_no_secrets_and_nothing_that_changes_what_it_does(tmp_path, monkeypatch):
    for name in ("FESTINGER_SECRET_KEY", "CELERY_BROKER_URL", "OPENAI_API_KEY", "PGDATA"):
        monkeypatch.setenv(name, "hush")
    monkeypatch.delenv("DATABASE_URL", raising=False)
    monkeypatch.setenv("LC_ALL", "de_DE")

    options = programs(tmp_path, "127.0.0.1", 1)[0].options
    shown = subprocess.run(["env"], capture_output=True, text=True, check=True, **options)

    environment = dict(line.split("=", 1) for line in shown.stdout.splitlines())
    assert environment == as_user(None)["env"]
    assert (environment["LC_ALL"], environment["PATH"]) == ("C", os.environ["PATH"])
    assert "hush" not in environment.values()


def test_why_a_command_failed_is_told_rather_than_what_it_said_last():
    says = "echo 'creating files' >&2; echo 'FATAL: No space left on device' >&2; echo 'removing files' >&2; exit 1"

    assert run_to_end(["sh", "-c", says]) == "FATAL: No space left on device"
