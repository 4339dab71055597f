import stat
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from cryptography.fernet import Fernet

from memory.access import key_encryption
from memory.models import LanguageModel, NotificationTarget

KEY = "sk-ant-0123456789-abcdef"


@pytest.fixture
def kept(settings: Any, tmp_path: Path) -> Path:
    """The file of a home where no key is in the environment."""
    settings.ENCRYPTION_KEYS = []
    settings.HOME = tmp_path / "home"
    return settings.HOME / "encryption_keys"


def model_with(key: str) -> LanguageModel:
    return LanguageModel.objects.create(provider="claude", model_name="x", api_key=key_encryption.encrypt(key))


def test_a_key_comes_back_as_it_was_and_is_nowhere_in_what_is_stored(kept: Path):
    token = key_encryption.encrypt(f"  {KEY}\n")

    assert key_encryption.decrypt(token) == KEY
    assert KEY not in token
    assert token.startswith("gAAAA")


def test_the_file_is_made_on_first_need_for_its_owner_alone(kept: Path):
    key_encryption.encrypt(KEY)

    assert stat.S_IMODE(kept.stat().st_mode) == 0o600
    assert len(kept.read_text().split()) == 1


def test_those_who_need_it_first_at_once_agree_on_it(kept: Path):
    with ThreadPoolExecutor(8) as pool:
        tokens = list(pool.map(lambda _: key_encryption.encrypt(KEY), range(32)))

    assert {key_encryption.decrypt(token) for token in tokens} == {KEY}


@pytest.mark.parametrize("key", ["", "  ", "two words", "sk-\nX-Header: 1", "schlüssel", "a\0b", "x" * 4097], ids=repr)
def test_what_no_header_can_carry_is_no_key_and_not_repeated(kept: Path, key: str):
    with pytest.raises(key_encryption.KeyMistake, match="printable ASCII") as raised:
        key_encryption.encrypt(key)

    assert not key.strip() or key not in str(raised.value)


def test_the_first_key_of_the_environment_encrypts_and_all_decrypt(kept: Path, settings: Any):
    old, new = Fernet.generate_key().decode(), Fernet.generate_key().decode()
    settings.ENCRYPTION_KEYS = [old]
    before = key_encryption.encrypt(KEY)

    settings.ENCRYPTION_KEYS = [new, old]
    after = key_encryption.encrypt(KEY)

    assert key_encryption.decrypt(before) == KEY
    assert Fernet(new).decrypt(after).decode() == KEY
    assert not kept.exists()


@pytest.mark.parametrize(
    "token", ["", "gAAAA", "gAAAAnonsense", "schlüssel", Fernet(Fernet.generate_key()).encrypt(KEY.encode()).decode()],
    ids=["none", "cut", "nonsense", "no ASCII", "of another key"],
)  # fmt: skip
def test_what_cannot_be_decrypted_is_told_without_showing_it(kept: Path, token: str):
    with pytest.raises(key_encryption.KeyMistake, match="cannot be decrypted") as raised:
        key_encryption.decrypt(token)

    assert not token or token not in str(raised.value)


def test_a_damaged_file_is_told_and_left_as_it_is(kept: Path):
    key_encryption.encrypt(KEY)
    kept.write_text("secret nonsense\n")

    with pytest.raises(key_encryption.KeyMistake, match="does not hold one key a line") as raised:
        key_encryption.encrypt(KEY)

    assert "nonsense" not in str(raised.value)
    assert kept.read_text() == "secret nonsense\n"


def test_a_file_that_cannot_be_opened_is_told(kept: Path):
    kept.mkdir(parents=True)

    with pytest.raises(key_encryption.KeyMistake, match="cannot be read or written"):
        key_encryption.encrypt(KEY)


@pytest.mark.django_db
def test_rotating_makes_a_new_key_in_the_home_and_keeps_the_one_before(kept: Path):
    models = [model_with(f"{KEY}{i}") for i in range(3)]
    first = kept.read_text().split()

    assert key_encryption.rotate() == (3, [])
    assert key_encryption.rotate() == (3, [])

    newest = kept.read_text().split()
    assert (len(newest), set(newest) & set(first)) == (2, set())
    for i, model in enumerate(models):
        model.refresh_from_db()
        assert Fernet(newest[0]).decrypt(model.api_key).decode() == f"{KEY}{i}"


@pytest.mark.django_db
def test_rotating_encrypts_the_secrets_of_webhooks_too(kept: Path):
    target = NotificationTarget.objects.create(
        address="https://hogwarts.example", events=["run.failed"], secret=key_encryption.encrypt(KEY)
    )

    assert key_encryption.rotate() == (1, [])

    target.refresh_from_db()
    assert Fernet(kept.read_text().split()[0]).decrypt(target.secret).decode() == KEY


@pytest.mark.django_db
def test_rotating_with_keys_of_the_environment_uses_the_first_and_makes_none(kept: Path, settings: Any):
    old, new = Fernet.generate_key().decode(), Fernet.generate_key().decode()
    settings.ENCRYPTION_KEYS = [old]
    model = model_with(KEY)
    settings.ENCRYPTION_KEYS = [new, old]

    assert key_encryption.rotate() == (1, [])

    model.refresh_from_db()
    assert Fernet(new).decrypt(model.api_key).decode() == KEY
    assert not kept.exists()


@pytest.mark.django_db
def test_rotating_leaves_what_it_cannot_decrypt_and_drops_no_key_then(kept: Path):
    lost = model_with(KEY)
    foreign = Fernet(Fernet.generate_key()).encrypt(b"x").decode()
    LanguageModel.objects.filter(pk=lost.pk).update(api_key=foreign)
    good = model_with(KEY)

    key_encryption.rotate()
    count, refused = key_encryption.rotate()

    lost.refresh_from_db()
    good.refresh_from_db()
    assert (count, refused, lost.api_key) == (1, [lost], foreign)
    assert key_encryption.decrypt(good.api_key) == KEY
    assert len(kept.read_text().split()) == 3
