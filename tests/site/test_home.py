import os
import stat
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from psycopg.conninfo import conninfo_to_dict

from festinger_site import home
from festinger_site.environment import EnvironmentMistake

absolute_paths = st.text(st.characters(codec="utf-8", exclude_categories=("C", "Z")), max_size=200).map(
    lambda text: Path("/") / text
)


def test_the_home_is_var_in_the_project_unless_named(monkeypatch):
    monkeypatch.delenv("FESTINGER_HOME")

    assert home.path() == home.ROOT / "var"


def test_a_home_has_one_name_however_it_is_spelled(monkeypatch, tmp_path):
    (tmp_path / "link").symlink_to(tmp_path / "real")
    monkeypatch.setenv("FESTINGER_HOME", f"{tmp_path}/other/../link")

    assert home.path() == (tmp_path / "real").resolve()


def test_a_home_that_cannot_be_made_is_a_mistake_in_the_environment(monkeypatch, tmp_path):
    (tmp_path / "file").touch()
    monkeypatch.setenv("FESTINGER_HOME", f"{tmp_path}/file/home")

    with pytest.raises(EnvironmentMistake, match=r"FESTINGER_HOME=.*cannot be created"):
        home.ensure()


def test_those_who_need_a_secret_first_at_once_agree_on_it(monkeypatch, tmp_path):
    monkeypatch.setenv("FESTINGER_HOME", str(tmp_path / "home"))

    with ThreadPoolExecutor(8) as pool:
        values = set(pool.map(lambda _: home.ensure_secret("key"), range(32)))

    assert len(values) == 1
    assert len(values.pop()) == 86


def test_a_secret_is_its_owners_alone(monkeypatch, tmp_path):
    monkeypatch.setenv("FESTINGER_HOME", str(tmp_path))

    home.ensure_secret("secret_key")

    assert stat.S_IMODE((tmp_path / "secret_key").stat().st_mode) == 0o600


@given(absolute_paths)
@example(Path("/home/someone/a,b"))
@example(Path("/home/someone/with space"))
@example(Path("/" + "x" * 73))
def test_a_socket_path_is_plain_and_fits_the_kernel(path):
    folder = home.run_folder(path)

    assert home.PLAIN_PATH.fullmatch(str(folder))
    assert len(os.fsencode(folder / home.LONGEST_SOCKET)) <= home.SOCKET_PATH_MAX_BYTES


def test_the_embedded_address_is_that_of_the_socket(monkeypatch, tmp_path):
    monkeypatch.setenv("FESTINGER_HOME", str(tmp_path))

    settings = home.django_database(home.local_database_url())

    assert settings["HOST"] == str(home.database_socket(home.path()))
    assert (settings["NAME"], settings["USER"], settings["PORT"]) == ("festinger", "postgres", "5432")


def test_an_address_keeps_its_options():
    settings = home.django_database("postgresql://u:p%40%2F@db.example:6000/name?sslmode=require")

    assert settings["PASSWORD"] == "p@/"
    assert settings["OPTIONS"] == {"connect_timeout": 5, "sslmode": "require"}


@pytest.mark.parametrize(
    "url",
    [
        "mysql://u:hunter2@h/name",
        "postgresql://u:hunter2@h",
        "postgresql://u:hunter2@h/name?no_such_option=1",
        "postgresql://u:hunter2@[h/name",
    ],
)
def test_an_address_that_cannot_be_used_is_a_mistake_that_tells_no_password(url):
    with pytest.raises(EnvironmentMistake, match="DATABASE_URL: takes postgresql://") as caught:
        home.django_database(url)

    assert "hunter2" not in str(caught.value)


def test_the_broker_on_our_own_database_gets_its_address_as_keywords():
    options = home.broker_options("pgmq://", "postgresql://u:it's%20%5C@h:1/name")

    address = {"user": "u", "password": "it's \\", "host": "h", "port": "1", "dbname": "name"}
    patience = {key: str(value) for key, value in home.BROKER_PATIENCE.items()}
    assert conninfo_to_dict(options["conn_string"]) == address | patience


def test_an_address_may_say_how_long_the_broker_waits():
    options = home.broker_options("pgmq://", "postgresql://h/name?connect_timeout=60")

    assert conninfo_to_dict(options["conn_string"])["connect_timeout"] == "60"


def test_another_broker_gets_no_options():
    assert home.broker_options("redis://localhost/0", "postgresql://h/name") == {}
