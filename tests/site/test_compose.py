"""docker-compose.yml and the Dockerfile keep what they promise, as far as reading them tells."""

import re
import stat
from pathlib import Path

import pytest

from festinger_site import settings
from festinger_site.environment import SECRETS, Environment
from festinger_site.home import ROOT
from festinger_site.run.preflight import SECRET_MIN, LaunchFailed, check_exposure
from festinger_site.run.programs import own_programs
from tests.site.composed import (
    DOCKERFILE,
    INSTRUCTIONS,
    Missing,
    compose,
    copy_context,
    exec_form,
    image_environment,
    instructions,
    labels,
    make_secrets,
    seconds,
)

FILE = compose(FESTINGER_SECRETS="./secrets")
SERVICES = FILE["services"]
OWN = ("prepare", "proxy", "worker")
# The address of a mail server is the operator's to give, in .env; all others are made by `make secrets`.
MADE = sorted({*SECRETS} - {"FESTINGER_EMAIL_URL"})
LASTING = sorted(set(SERVICES) - {"prepare"})


def test_these_are_the_services():
    assert set(SERVICES) == {"postgres", "redis", *OWN}


@pytest.mark.parametrize("name", LASTING)
def test_a_service_that_lasts_is_asked_how_it_is_and_started_again(name):
    check = SERVICES[name]["healthcheck"]

    assert check["test"][0] in ("CMD", "CMD-SHELL")
    assert seconds(check["timeout"]) <= seconds(check["interval"])
    assert check["retries"] >= 3
    assert SERVICES[name]["restart"] == "unless-stopped"


def test_what_runs_once_is_neither_asked_nor_started_again():
    assert SERVICES["prepare"]["healthcheck"] == {"disable": True}
    assert SERVICES["prepare"]["restart"] == "no"


@pytest.mark.parametrize("name", ["proxy", "worker"])
def test_the_programs_wait_for_a_database_that_is_prepared(name):
    assert SERVICES[name]["depends_on"] == {
        "prepare": {"condition": "service_completed_successfully"},
        "postgres": {"condition": "service_healthy"},
        "redis": {"condition": "service_healthy"},
    }
    assert SERVICES["prepare"]["depends_on"]["postgres"] == {"condition": "service_healthy"}


@pytest.mark.parametrize("name", sorted(SERVICES))
def test_nobody_is_root_or_may_more_than_needed(name):
    service = SERVICES[name]

    assert re.fullmatch(r"[1-9]\d*:[1-9]\d*", service["user"])
    assert service["read_only"] is True
    assert service["cap_drop"] == ["ALL"]
    assert service["security_opt"] == ["no-new-privileges:true"]
    assert service["logging"]["options"] == {"max-size": "10m", "max-file": "4"}
    assert not {"privileged", "cap_add", "network_mode", "pid"} & set(service)


def test_no_secret_stands_in_an_environment():
    secrets = {*MADE, "POSTGRES_PASSWORD"}
    for service in SERVICES.values():
        for variable, value in service.get("environment", {}).items():
            assert variable not in secrets
            assert "@" not in value
            if variable.removesuffix("_FILE") in secrets:
                assert value.removeprefix("/run/secrets/") in service["secrets"]


@pytest.mark.parametrize("name", OWN)
def test_every_secret_of_the_environment_comes_from_a_file(name):
    assert {f"{secret}_FILE" for secret in MADE} <= set(SERVICES[name]["environment"])


def test_every_secret_is_declared_used_and_made(tmp_path: Path):
    make_secrets(tmp_path)
    used = {secret for service in SERVICES.values() for secret in service["secrets"]}

    assert FILE["secrets"] == {name: {"file": f"./secrets/{name}"} for name in used}
    assert {file.name for file in (tmp_path / "secrets").iterdir()} == used
    assert (tmp_path / ".env").read_text() == "FESTINGER_SECRETS=./secrets\n"


def test_secrets_are_for_their_owner_on_the_host_and_for_any_user_in_a_container(tmp_path: Path):
    make_secrets(tmp_path)

    assert stat.S_IMODE((tmp_path / "secrets").stat().st_mode) == 0o700
    assert {stat.S_IMODE(file.stat().st_mode) for file in (tmp_path / "secrets").iterdir()} == {0o644}


def test_secrets_are_made_once_and_what_stands_in_env_stays(tmp_path: Path):
    (tmp_path / ".env").write_text("FESTINGER_UPSTREAM=http://ollama:11434")
    make_secrets(tmp_path)
    before = {file: file.read_text() for file in (tmp_path / "secrets").iterdir()}

    make_secrets(tmp_path)

    assert {file: file.read_text() for file in (tmp_path / "secrets").iterdir()} == before
    assert len(set(before.values())) == len(before)
    lines = (tmp_path / ".env").read_text().splitlines()
    assert lines == ["FESTINGER_UPSTREAM=http://ollama:11434", "FESTINGER_SECRETS=./secrets"]


def test_without_secrets_compose_says_what_to_do():
    with pytest.raises(Missing, match="FESTINGER_SECRETS is missing a value: run make secrets first"):
        compose()


def test_neither_git_nor_an_image_gets_the_secrets(tmp_path: Path):
    ignored = (ROOT / ".gitignore").read_text().splitlines()
    copy_context(tmp_path)

    assert {"/secrets/", "/secrets.unfinished/", "/.env"} <= set(ignored)
    assert not {".env", "secrets", "var", ".git", ".venv", "tests"} & {entry.name for entry in tmp_path.iterdir()}


def test_versions_are_pinned():
    foreign = {service["image"] for name, service in SERVICES.items() if name not in OWN} | set(instructions("FROM"))

    assert all(re.search(r":\d+\.\d+\.\d+", image) for image in foreign)
    assert "pgvector" in SERVICES["postgres"]["image"]
    assert all("@sha256:" in image for image in instructions("FROM"))


def test_the_image_is_of_this_version_and_built_once():
    assert {SERVICES[name]["image"] for name in OWN} == {f"festinger:{settings.VERSION}"}
    assert [name for name in OWN if "build" in SERVICES[name]] == ["prepare"]
    assert {SERVICES[name]["pull_policy"] for name in OWN if name != "prepare"} == {"never"}
    assert labels()["org.opencontainers.image.version"] == settings.VERSION


def test_the_image_runs_as_the_user_of_the_services_in_exec_form():
    assert {SERVICES[name]["user"] for name in OWN} == {instructions("USER")[-1]}
    assert exec_form(instructions("CMD")[-1]) == SERVICES["proxy"]["command"]
    assert instructions("STOPSIGNAL") == ["SIGTERM"]
    assert "ENTRYPOINT" not in {word for word, _ in INSTRUCTIONS}


def test_a_change_of_the_code_does_not_install_the_requirements_anew():
    order = [DOCKERFILE.index(line) for line in ("COPY requirements.txt", "RUN pip install", "COPY . .", "USER ")]

    assert order == sorted(order)


@pytest.mark.parametrize("program", own_programs("0.0.0.0", 11435), ids=lambda program: program.name)
def test_a_program_is_a_service_with_time_to_stop(program):
    service = SERVICES[program.name]

    assert service["command"] == ["python", "-m", "festinger_site.run.programs", program.name]
    assert seconds(service["stop_grace_period"]) >= program.stop_wait_s
    assert service.get("stop_signal", instructions("STOPSIGNAL")[0]) == program.stop_signal.name
    assert service["init"] is True


def test_only_the_proxy_is_published_and_only_to_this_machine():
    assert {name: service["ports"] for name, service in SERVICES.items() if "ports" in service} == {
        "proxy": ["127.0.0.1:11435:11435"]
    }
    assert FILE["networks"]["inside"] == {"internal": True}
    assert {name for name, service in SERVICES.items() if "outside" in service["networks"]} == {"proxy", "worker"}


def test_where_it_is_published_is_said_as_without_docker():
    other = compose(FESTINGER_SECRETS="s", FESTINGER_HOST="0.0.0.0", FESTINGER_PORT="80")

    assert other["services"]["proxy"]["ports"] == ["0.0.0.0:80:11435"]


def test_what_has_to_stay_is_on_named_volumes():
    mounts = {name: service["volumes"] for name, service in SERVICES.items() if "volumes" in service}

    assert mounts == {"postgres": ["postgres:/var/lib/postgresql/data"]} | {
        name: [f"home:{image_environment()['FESTINGER_HOME']}"] for name in OWN
    }
    assert set(FILE["volumes"]) == {"postgres", "home"}


def test_the_upstream_is_the_hosts_ollama_unless_another_is_named():
    named = compose(FESTINGER_SECRETS="s", FESTINGER_UPSTREAM="http://gpu:11434")

    for name in ("proxy", "worker"):
        assert SERVICES[name]["environment"]["FESTINGER_UPSTREAM"] == "http://host.docker.internal:11434"
        assert SERVICES[name]["extra_hosts"] == ["host.docker.internal:host-gateway"]
        assert named["services"][name]["environment"]["FESTINGER_UPSTREAM"] == "http://gpu:11434"


def test_with_an_empty_upstream_config_yaml_names_it():
    emptied = compose(FESTINGER_SECRETS="s", FESTINGER_UPSTREAM="")

    assert {emptied["services"][name]["environment"]["FESTINGER_UPSTREAM"] for name in OWN} == {""}


@pytest.mark.parametrize("name", OWN)
def test_every_setting_of_the_environment_can_be_given(name):
    given = {variable.removesuffix("_FILE") for variable in SERVICES[name]["environment"]}

    assert given | set(image_environment()) >= set(Environment.model_fields)


def test_it_starts_where_it_is_published_to_this_machine_or_somebody_says_that_others_may():
    def environment(**variables: str) -> Environment:
        given = compose(FESTINGER_SECRETS="s", **variables)["services"]["proxy"]["environment"]
        return Environment(
            **{name: value for name, value in given.items() if value and name in Environment.model_fields}
        )

    everywhere = {"FESTINGER_HOST": "0.0.0.0"}
    check_exposure(environment(), "0.0.0.0")
    check_exposure(environment(**everywhere, FESTINGER_OPEN="1"), "0.0.0.0")
    check_exposure(environment(**everywhere, FESTINGER_REQUIRE_TOKEN="1"), "0.0.0.0")
    with pytest.raises(LaunchFailed, match=r"FESTINGER_PUBLISHED=0\.0\.0\.0 lets other machines reach Festinger"):
        check_exposure(environment(**everywhere), "0.0.0.0")


def test_the_secret_key_is_long_enough(tmp_path: Path):
    make_secrets(tmp_path)

    assert len((tmp_path / "secrets" / "secret_key").read_text().strip()) >= SECRET_MIN
