import re
import string

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from memory.secrets.redaction import MARK, blank_secrets, mask_secrets

AWS_SECRET = "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY"
JWT = "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.dozjgNryP4J3jVmNHl0w5N_XgL0n3I9PlFUP0THsR8U"
PEM_LINES = ["MIIEowIBAAKCAQEAxyz0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHI"] * 3
AWKWARD = (
    "password", "passphrase", "token", "secret", "api_key", "key", "Authorization", "bearer ", "mnemonic", "pwd", "İ",
    ":", "=", " ", "\n", '"', "'", "\\", "`", ",", ";", "&", "@", "://", "/", ".", "-", "_", "*", "[", "]", "<", ">",
    "{", "(", "$", "%", "is ", "-p ", "-u ", "--password ", "mysql ", "str", "x", "hunter2", MARK, "sk-", "ghp_",
    " is ", " to ", " from ", "for ", "the ", "swordfish", "changed the password", "pin ", "4711", "log in ", "admin",
    " / ", "credentials", "redis-cli -a ", "4111 1111 1111 1111", "DE89 3704 0044 0532 0130 00", "123-45-6789", "(",
    " is the password", "use ", " as my password", "with the password ", "wifi key", "?", "? It's ", " - ", "what is ",
    "same ", " by the way", " a b: ", "unlock the safe with ", "63-17-42", " as bob with ", "Set-Cookie: a=",
    "bob:x1@h", "\u5bc6\u7801", "\u662f", "\uff1a", "\u200b", "\xad", "\uff50", "\ufb01", "\uffff",
    "-----BEGIN PRIVATE KEY-----", "-----END PRIVATE KEY-----", JWT, AWS_SECRET, "9f86d081884c7d659a2feaa0c55ad015",
)  # fmt: skip
awkward = st.lists(st.sampled_from(AWKWARD), max_size=12).map("".join)


@pytest.mark.parametrize(
    ("text", "masked"),
    [
        ("password: x", "password: [secret]"),
        ("Password: hunter2, user: bob", "Password: [secret], user: bob"),
        ("**Password:** hunter2", "**Password:** [secret]"),
        ("The password is hunter2.", "The password is [secret]."),
        ("my password is Tr0ub4dor&3, ok?", "my password is [secret], ok?"),
        ("Passwort: geheim", "Passwort: [secret]"),
        ("passphrase: correct horse battery staple", "passphrase: [secret]"),
        ("the password:\nhunter2\nand so on", "the password:\n[secret]\nand so on"),
        ("secret: swordfish", "secret: [secret]"),
        ("API_KEY=abc", "API_KEY=[secret]"),
        ("export GITHUB_TOKEN=abcdef", "export GITHUB_TOKEN=[secret]"),
        ("OPENAI_API_KEY_PROD=abc123def", "OPENAI_API_KEY_PROD=[secret]"),
        ("the api key is abc-123-def", "the api key is [secret]"),
        ('token = "abc def"', 'token = "[secret]"'),
        ("token='it is'", "token='[secret]'"),
        ('{"password": "a\\"b", "user": "bob"}', '{"password": "[secret]", "user": "bob"}'),
        ('{\\"password\\": \\"hunter2\\", \\"user\\": 1}', '{\\"password\\": \\"[secret]\\", \\"user\\": 1}'),
        ('password: str = "hunter2"', 'password: str = "[secret]"'),
        ("<password>hunter2</password>", "<password>[secret]</password>"),
        ("Authorization: Bearer abc.def", "Authorization: Bearer [secret]"),
        ("authorization: Basic Ym9iOmh1bnRlcjI=", "authorization: Basic [secret]"),
        ('-H "Authorization: Bearer abc" http://x', '-H "Authorization: Bearer [secret]" http://x'),
        ("x-api-key: abc", "x-api-key: [secret]"),
        ("https://x/y?api_key=abc123&user=bob", "https://x/y?api_key=[secret]&user=bob"),
        ("sync --password hunter2 --user bob", "sync --password [secret] --user bob"),
        ("sync --db-password=pass,word", "sync --db-password=[secret]"),
        ("mysql -u root -phunter2 web", "mysql -u root -p[secret] web"),
        ("sshpass -p 'hunter2' ssh host", "sshpass -p '[secret]' ssh host"),
        ("docker login -u bob -p swordfish", "docker login -u bob -p [secret]"),
        ("backup -p hunter2", "backup -p [secret]"),
        ("curl -u bob:swordfish http://x", "curl -u bob:[secret] http://x"),
    ],
)
def test_what_a_label_announces_is_masked(text: str, masked: str) -> None:
    assert mask_secrets(text) == masked


@pytest.mark.parametrize(
    "text",
    [
        "the password is <swordfish>",
        "my password is <correct horse battery staple>",
        "the password for the database is <hunter2>",
        "The root password for staging is <Blue-Horse-42>.",
        "The password that we use for the wiki is <swordfish>, by the way",
        "the password on the old NAS is '<blue fish>'",
        "The password for **prod** is **<swordfish**>",
        "the password (staging) is now <swordfish!>",
        "password of prod db: <hunter2>",
        "the admin password is <swordfish> and the user is bob",
        "the new password will be <swordfish>.",
        "the password was changed to <swordfish>.",
        "changed the password to <hunter2>",
        "I set bob's password to <swordfish>, ok?",
        "changed the password from <hunter2> to <hunter3>",
        "our database password changed to <swordfish>, ok?",
        "our wifi key is <Sommerregen>; the Wi-Fi key: <Winterregen>",
        "<swordfish> is the root password, and '<bluefish>' was my password.",
        "use <swordfish> as the password",
        "you get in with the password <swordfish>, user bob",
        "ssh root@box, pw <swordfish>",
        "my seed phrase is <abandon ability able about above absent absorb abstract absurd abuse access accident>",
        "the passphrase is <correct horse battery>.",
        "das Passwort ist <schwertfisch>, le mot de passe est <espadon>, la contraseña es <pezespada>",
        "the token for the build is <a1b2c3d4>, the key is <swordfish77>",
        "log in with admin / <hunter2>",
        "sign in as root / <toor>",
        "log in with admin/<Blue-Horse-42>",
        "login admin:<hunter2>",
        "credentials: bob / <swordfish>",
        "the credentials are admin / <swordfish>.",
        "PASSWORD <swordfish>",
        "requirepass <swordfish>",
        "machine x login bob password <swordfish>",
        "user: bob, password <swordfish>",
        "https://x/y?a=b&token=<swordfish>&c=d",
        "redis-cli -h cache -a <x> ping",
        "unzip -P <hunter> a.zip && ldapsearch -x -w <hunter> -b dc=x",
        "my PIN is <4711>",
        "PIN code: <4711>",
        "OTP is <123456>",
        "the verification code for bob is <123 456>.",
        "pay with <4111 1111 1111 1111> or <378282246310005>",
        "IBAN <DE89 3704 0044 0532 0130 00>, <GB29NWBK60161331926819>",
        "SSN <123-45-6789>",
        "my wifi password is <swordfish> by the way",
        "the admin password is <swordfish> on both routers, if you need it",
        "the password is <swordfish> now",
        "password - <swordfish>",
        "the password for staging \u2013 <Blue-Horse-42> by the way",
        "The password? It's <swordfish>.",
        "You need the root password? That would be <swordfish>.",
        "What is the password?\n<swordfish>",
        "What's the password for the wiki? <Blue-Horse-42>",
        "How do I get the password?\n<bluehorse42>",
        "same password as always, <swordfish>",
        "the usual password, <bluehorse42>, works there as well",
        "the secret word is <swordfish>; the code word was <bluefish>",
        "the password is a word with a number, but without space: <swordfish7>",
        "the password is simple: <swordfish>",
        "log in as admin with <swordfish>",
        "log in as bob using <Blue-Horse-42>",
        "sign in to the router using <bluehorse42>.",
        "unlock the safe with <63-17-42>",
        "unlock the phone with <471147> please",
        "unlock the archive with <Blue-Horse-42>",
        "das Passwort f\u00fcr die Datenbank lautet <schwertfisch>",
        "le mot de passe du serveur est <espadon>",
        "\u5bc6\u7801\u662f <swordfish>",
        "\u6211\u7684\u5bc6\u7801\u662f<swordfish>\uff0c\u8bf7\u8bb0\u4f4f\u3002",
        "\u5bc6\u7801\uff1a<Blue-Horse-42>\u3002",
        "Set-Cookie: sid=<swordfish>; HttpOnly; Path=/",
        "Cookie: sid=<swordfish>; csrf=<bluefish>",
        "bob:<Summer-Elm-78>@db.internal",
        "scp x deploy:<blue!horse>@10.0.3.7",
        "the pass\u200bword is <swordfish>",
        "\u2066password\u2069: <sword\u200bfish>\u200b, ok?",
        "\uff50\uff41\uff53\uff53\uff57\uff4f\uff52\uff44\uff1a <swordfish>",
        "the password of \ufb01nance: <\uff42lue-Horse-42>",
    ],
)
def test_what_people_write_around_a_secret_tells_where_it_stands(text: str) -> None:
    written = text.replace("<", "").replace(">", "")

    assert mask_secrets(written) == re.sub("<[^>]+>", MARK, text)


@pytest.mark.parametrize(
    ("text", "masked"),
    [
        ("postgres://bob:hunter2@db.local:5432/x", "postgres://bob:[secret]@db.local:5432/x"),
        ("amqp://bob:p@ss@host/v", "amqp://bob:[secret]@host/v"),
        ("redis://:hunter2@cache/0", "redis://:[secret]@cache/0"),
        ("Server=db;User Id=sa;Password=Pa$$w0rd;Encrypt=true", "Server=db;User Id=sa;Password=[secret];Encrypt=true"),
        ("host=db password=hunter2 dbname=y", "host=db password=[secret] dbname=y"),
        (f"AccountName=foo;AccountKey={AWS_SECRET}==;", "AccountName=foo;AccountKey=[secret];"),
    ],
)
def test_a_connection_string_keeps_all_but_its_password(text: str, masked: str) -> None:
    assert mask_secrets(text) == masked


@pytest.mark.parametrize(
    "secret",
    [
        "sk-proj-abc123def456", "ghp_16C7e42F292c6912E7710c838347Ae178B4a", "github_pat_11ABCDEFG0123",
        "AKIAIOSFODNN7EXAMPLE", "xoxb-1234567890-abcdefghij", "AIzaSyD-9tSrke72PouQMnMX-a7eZSW0jkFMBWY",
        "SG.ngeVfQFYQlKU0ufo8x5d1A.TwL2iGABf9DHoTf", "fst_kJ8x2LmPq9Rt5Vw7Yz1Bc3Df", JWT, AWS_SECRET,
        "789d339cf45e425ad32df89f115b834b5a96fa8b", "9F86D081884C7D659A2FEAA0C55AD015", "aB3dE5gH7jK9mN1pQ3sT",
        "kJ8x-2LmPq_9Rt5Vw7-Yz1Bc", "x7k2m9q4w8e1r5t3y6u0", "hf_abcdefghijklmnopqrstuvwxyzABCDEFGH",
        "sk-abcdefghijklmnopqrstuvwxyz", "glpat-abcdefghijklmnopqrst",
    ],
)  # fmt: skip
def test_what_looks_like_a_secret_is_masked_wherever_it_stands(secret: str) -> None:
    assert mask_secrets(f"we use {secret} there") == f"we use {MARK} there"
    assert secret not in mask_secrets(f"(see `{secret}`, or x={secret}.)")


def test_a_path_keeps_its_parts_beside_a_secret() -> None:
    document = "https://docs.example.org/document/d/1BxiMVs0XRA5nFMdKvBdBZjgmUUqptlbs74OgvE2upms/edit"

    assert mask_secrets(document) == f"https://docs.example.org/document/d/{MARK}/edit"


@pytest.mark.parametrize("break_", ["\n", "\\n"])
@pytest.mark.parametrize("end", ["-----END RSA PRIVATE KEY-----", ""])
def test_a_private_key_is_masked_also_where_its_end_is_missing(break_: str, end: str) -> None:
    key = break_.join(filter(None, ["-----BEGIN RSA PRIVATE KEY-----", *PEM_LINES, end]))

    masked = mask_secrets(f"the key\n{key}\nis gone")

    assert masked.split() == ["the", "key", MARK, "is", "gone"]


@pytest.mark.parametrize(
    "text",
    [
        "the password is stored in Vault",
        "token count: 5 tokens",
        "Reset token expires in 5 minutes.",
        "The token: the unit that a model counts.",
        "the secret sauce is love; the key: patience",
        "Password: required",
        "password: see the vault",
        "the token is sha256-hashed",
        "FESTINGER_REQUIRE_TOKEN=1 and max_token: 512",
        "primary key: id, foreign key: user_id",
        "password: str",
        "password: ${DB_PASSWORD}",
        'password: "<your password>"',
        "password=os.environ[NAME]",
        "token = get_token()",
        "DATABASE_URL_FILE and PASSWORD_FILE=/run/secrets/password",
        "The passkey, the compass: north, bypass: yes, PWD=/home/x",
        "scikit-learn-extra-package and sk-learn",
        "mkdir -p /tmp/data && docker run -p 8080:80 nginx && ssh -p 2222 host",
        "pyenv virtualenv -p python3 web",
        "http://localhost:8080/a@b and https://bob@host:443/x",
        "run 550e8400-e29b-41d4-a716-446655440000 at 2024-01-15T10:22:33Z",
        "/home/user/Projects/MyApp2/src/main/java/com/example/ServiceFactory2.java",
        "x86_64-unknown-linux-gnu cp311-cp311-manylinux_2_17_x86_64.manylinux2014 GlitchUniversityServer2",
        "memory/migrations/0002_rings_history_and_notifications.py",
        "Authorization is needed; the authorization: none",
        "the token is expired, the password reset is broken, and the password manager is great",
        "The password is stored hashed and salted. The password policy is strict. The passwords are in Vault.",
        "The password must be at least 12 characters long, must be changed every 90 days, and must be UTF-8.",
        "use your password to log in, or reset your password to continue",
        "The problem is the password. This is the password. bcrypt is the password hash, Vault a store.",
        "log in with password authentication, with the password reset, with the wrong password again, by password",
        "use your email as the password, sha256 as password hash, Vault as the password store",
        "the wifi key is broken; the wifi key is on the fridge; the password changed yesterday",
        "changed the password to something else; the password for the demo is the same",
        "the password for kvasir is managed by Vault, the credentials for staging are stored in 1password",
        "the same password is chosen; the password is wrong; if the password is valid, go on",
        "the primary key is user_id2, the key is patience, the key to the room is under the mat",
        "the secret is out; the access token is a JWT; the token for the API is valid for 30 days",
        "Sign in with Google / GitHub, log in with email / password, or login to 10.0.0.1:8080",
        "def check_credentials(request: dict | None, prefetched_creds=creds) -> bool:",
        'getpass("Password (again): ") and ### MASTER KEY ###',
        "username + password user, PASSWORD RESET",
        "error code 404, exit code 137, zip code 12345, pin 13 is GPIO 4",
        "order 1234567890123456 came at 2026-03-04, call 555-12-3456x, 1234-5678-9012-3456",
        "the password is stored in the vault, by the way, and is kept offline in case of fire",
        "the password is part of the setup; the password is expired since yesterday; it is a secret word for that",
        "Password - required, Password - the field for it, name - password - captcha",
        "forgot the password - again; a new password - see the handbook",
        "The password? It's in the vault. The password? It's stored. Forgot your password? Click here.",
        "What is the password? I have no idea.",
        "Where is the password stored?\nKeychain",
        "the same password as always, so you know it; user, password, and name",
        "the password is a string but without spaces: see the docs; the password is wrong: try again",
        "sign in using your account, sign in to the portal using SSO, log in with two-factor authentication",
        "log in as admin with care, log in as root with sudo, log in as bob with the key",
        "unlock the feature with a flag, unlock level 12 with 300 points, unlock it with Python",
        "das Passwort f\u00fcr die Datenbank steht im Tresor",
        "\u5bc6\u7801\u662f\u9519\u8bef\u7684\u3002\u8bf7\u8f93\u5165\u5bc6\u7801",
        "Set-Cookie: attributes are HttpOnly; a cookie: baked with butter; cookie={cookie}",
        "mail bob@db.internal, mailto:bob-7@example.org, git@github.com:org/repo2.git, user:group@host",
        "npm:left-pad7@1.3.0, app:1.25@sha256:abc, 3:4@60fps, Email:bob7@example.org",
        "\ufb01nd the Unicode word breaks \u2026 the \uff50assword is required",
        "docker run -a stdout -w /srv/app -u 1000 image | grep -a foo | sort -u",
    ],
)
def test_prose_and_code_without_secrets_stay(text: str) -> None:
    assert mask_secrets(text) == text


@given(st.one_of(st.text(), awkward))
@example("password: password: x")
def test_masking_again_changes_nothing(text: str) -> None:
    masked = mask_secrets(text)

    assert mask_secrets(masked) == masked


def test_a_line_of_any_length_is_masked() -> None:
    line = " ".join(f"gnommo-{number}-web-shop{number}" for number in range(4_000)) + " sk-proj-9aB3xY7qLm2Zt5Wc8Vd1"

    assert "9aB3xY7" not in mask_secrets(line)


@given(st.one_of(st.text(), awkward))
@example("mongodb://bob:hunter2@host and -----BEGIN PRIVATE KEY-----\nMIIEowIBAAKCAQEA\n")
def test_what_is_blanked_is_what_is_masked_and_nothing_moves(text: str) -> None:
    masked, blank = mask_secrets(text), blank_secrets(text)

    assert len(blank) == len(text)
    assert all(new in (old, "*") for old, new in zip(text, blank, strict=True))
    assert (blank == text) == (masked == text)


@given(st.lists(st.sampled_from(["", "", "\u200b", "\xad", "\u2060"]), min_size=30, max_size=30))
def test_what_cannot_be_seen_hides_no_secret_and_stays_outside_it(hidden: list[str]) -> None:
    written = [f"{sign}{character}" for sign, character in zip(hidden, "the password is swordfish, ok?", strict=True)]

    assert mask_secrets("".join(written)) == f"{''.join(written[:16])}{hidden[16]}{MARK}{''.join(written[25:])}"


@given(awkward, st.text(string.ascii_letters + string.digits, min_size=24, max_size=40), awkward)
def test_a_password_is_masked_in_any_company(before: str, noise: str, after: str) -> None:
    secret = f"aB3{noise}9Zq"

    assert secret not in mask_secrets(f'{before}\npassword="{secret}"\n{after}')


@given(st.lists(st.sampled_from(["the", "Glitch", "University", "runs", "on", "gnommoweb", "v1.2", "\n", "—", "(so)"])))
def test_a_text_without_labels_stays_as_it_is(parts: list[str]) -> None:
    assert mask_secrets(" ".join(parts)) == " ".join(parts)
