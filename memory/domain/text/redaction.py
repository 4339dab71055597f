"""Masks the secrets in a text, before any of it is kept: what a label announces as one, and what looks like one."""

import re
from typing import Final

from memory.domain.text.function_words import is_closed_class, split_words
from memory.domain.text.noise import is_key

MARK: Final = "[secret]"

# A key whose end is missing is masked as far as its lines look like Base64.
_PRIVATE_KEY: Final = re.compile(
    r"-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----"
    r"(?:[^-]*+-----END [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----|(?:(?:\s|\\[nr])*+[A-Za-z0-9+/=]{16,}+)*+)"
)
# A password may hold an @ or a slash, but a port is none.
_CREDENTIALS: Final = re.compile(
    r"(://[^\s/?#:@\"'<>\[\]]{0,128}+:)(?!\d{1,5}/)(?!\[secret\]@)[^\s@\"'<>]{1,128}+@(?:[^\s/@\"'<>]{1,128}+@)?"
)


def mask_secrets(text: str) -> str:
    """The text with `MARK` in place of each secret. Masking it again changes nothing; linear time on any text."""
    # Whole keys and addresses first: what is left of them would no longer be recognised. Each search is behind a look
    # for what it cannot do without, because most texts have no secret.
    if "-----BEGIN" in text:
        text = _PRIVATE_KEY.sub(MARK, text)
    if "://" in text:
        text = _CREDENTIALS.sub(rf"\1{MARK}@", text)
    text = _mask_announced(text)
    if " -p" in text or " -u" in text or " --user" in text:
        text = _ARGUMENT.sub(_mask_argument, text)
    return _LONG_RUN.sub(_mask_run, text)


# -- What a label announces: `password: x`, `API_KEY=x`, `"token": "x"`, `Authorization: Bearer x`, `--password x`.

# Every label has one of these where `_LABEL` begins: literals alone are found ten times as fast.
_ROOT: Final = re.compile("pass|pw|kennwort|key|token|secret|credential|authori|bearer|phrase|mnemonic")
_KEY_KINDS: Final = split_words(
    "access account admin api app auth client encryption license master private secret service session shared signing "
    "storage"
)
_KEY: Final = "(?:" + "|".join(f"(?<={kind})|(?<={kind}[ _-])" for kind in sorted(_KEY_KINDS)) + ")key"
# In small letters. What a strong label announces need not look like a secret; what a weak one does has to.
_LABEL: Final = re.compile(
    r"(?P<phrase>pass[ _-]?phrase|secret[ _-]phrase|(?<=seed[ _-])phrase|(?<=recovery[ _-])phrase|mnemonic)"
    rf"|(?P<strong>pass(?:word|wort|wd|code)|(?<![a-z])(?:pwd|pw)|kennwort|authori[sz]ation|{_KEY})"
    r"|(?P<weak>secret|token|credentials?|bearer|(?<![a-z])pass)"
)
_LINK: Final = re.compile(
    r"(?P<suffix>(?:_[A-Z0-9]{1,20}){1,3})?+\\{0,3}[\"'`*]{0,3}[ \t]{0,8}"
    r"(?:(?P<assigned>:[ \t]?(?:str|string|bytes)(?: \| None)?[ \t]?=|:=|=>|={1,2}|:|>(?=\S))\*{0,2}"
    r"|(?:is|was)(?=[ \t:])[ \t]{0,8}:?|(?<=[ \t])(?:\|[ \t])?)"
    r"(?P<wrapped>(?<=[:=])[ \t]{0,8}\r?\n)?[ \t]{0,8}(?:(?:bearer|basic|digest|token)[ \t]{1,8})?",
    re.IGNORECASE,
)
_VALUE: Final = re.compile(
    r"(?P<quote>\\{0,3}[\"'`])(?P<quoted>(?:(?!(?P=quote))(?:\\.|[^\n]))*+)"
    # A comma, a semicolon or an ampersand may stand in a password, but not before the next label.
    r"|(?P<bare>(?:[^\s\"'`<>,;&]|[,;&](?![\s\"'`]|\Z|[\w.\-]{1,40}[=:]))++)"
)
_LINE: Final = re.compile(r"[\"'`]?(?P<bare>[^\n\"'`]++)")
_GLANCE: Final = 64  # characters of a value that tell whether it is a secret
_CLOSING: Final = ".,;:)]}"

_PLAIN: Final = split_words(
    "any ask authentication bool boolean bytes changed disabled empty enabled expired false field hidden "
    "incorrect int invalid missing nil no none null number optional policy protected required reset see set str "
    "string stored true undefined unknown unset wrong yes"
)
_PLACEHOLDER: Final = re.compile(r"\$[{(]|\{\{|<|%s|\[secret|[*.\u2022_\-]+\Z|x{3,}\Z", re.IGNORECASE)
# What stands for a value without quotes, and is none: a variable, a call, a path, an address.
_REFERENCE: Final = re.compile(
    r"\$[A-Z_]+\b|\$[a-z_]+\Z|[\[{(]|[A-Za-z_.]+[(\[]|(?:~|\.{1,2})?(?:/[\w.\-]+){2,}|/\w+\Z|https?://"
    r"|(?:self|this|os|process|env|settings|config|request|args|options|ctx|params|props)\."
)
# Names of algorithms, formats and versions: letters and digits, but no secret.
_TECHNICAL: Final = re.compile(
    r"(?:aes|argon|auth|base|ecdsa|ed|es|gpt|hs|http|https|ipv|iso|k|md|node|oauth|pbkdf|python|rfc|rs|rsa|s|sha|ssl|tls|"
    r"utf|v|version|web|x)[-_]?\d",
    re.IGNORECASE,
)
_SYMBOL: Final = re.compile(r"\w[!@#$%^&*?~+=|]+\w")


def _mask_announced(text: str) -> str:
    lowered = text.replace("\u0130", "I").lower()  # the only letter that would get longer
    pieces: list[str] = []
    copied = at = 0
    while (root := _ROOT.search(lowered, at)) is not None:
        label = _LABEL.match(lowered, root.start())
        at = (label or root).end()
        if label is not None and (span := _find_announced(text, label)) is not None:
            pieces += [text[copied : span[0]], MARK]
            copied = at = span[1]
    return "".join([*pieces, text[copied:]]) if pieces else text


def _find_announced(text: str, label: re.Match[str]) -> tuple[int, int] | None:
    """The span of the secret that a label announces, if it does."""
    link = _LINK.match(text, label.end())
    if link is None:
        return None
    # A pass phrase is several words: all of the line is the secret.
    pattern = _LINE if label["phrase"] and link["assigned"] and not link["wrapped"] else _VALUE
    # A glance first: a text of labels followed by long values would else be read over and over.
    glance = pattern.match(text, link.end(), link.end() + _GLANCE)
    if glance is None or not _is_secret(text, label, link, glance):
        return None
    value = pattern.match(text, link.end())
    assert value is not None
    start, end = value.span(value.lastgroup or "bare")
    if value.lastgroup == "bare":
        end = start + len(text[start:end].rstrip(_CLOSING))
    return start, end


def _is_secret(text: str, label: re.Match[str], link: re.Match[str], glance: re.Match[str]) -> bool:
    # Where it is unclear, it is one: a sentence can be read with one word less.
    is_quoted = glance.lastgroup == "quoted"
    value = glance["quoted"] if is_quoted else glance["bare"].rstrip(_CLOSING)
    if not value or _PLACEHOLDER.match(value) or (not is_quoted and _REFERENCE.match(value)):
        return False
    if link["wrapped"]:
        return _looks_secret(value) and _ends_line(text, glance.end())
    if _looks_secret(value):
        return True
    word = value.split(maxsplit=1)[0].lower() if value.strip() else ""
    if link["suffix"] or word in _PLAIN:
        return False
    if is_quoted:
        return bool(link["assigned"] or label["strong"])
    # A label that ends an option of a command line: `--db-password`.
    if text[max(0, label.start() - 40) : label.start()].rpartition(" ")[2].startswith("--"):
        return not value.startswith("-")
    if not link["assigned"] or is_closed_class(word):
        return False
    return not label["weak"] or (not value.isdigit() and _stands_alone(text, label, glance))


def _looks_secret(value: str) -> bool:
    if len(value) < 6 or value.isalpha() or _TECHNICAL.match(value):
        return False
    has_letter = any(map(str.isalpha, value))
    return has_letter and (any(map(str.isdigit, value)) or _SYMBOL.search(value) is not None)


def _stands_alone(text: str, label: re.Match[str], glance: re.Match[str]) -> bool:
    """Whether no prose goes on after a value: the line or clause ends, or it is set like `SECRET=value`."""
    is_variable = text[label.start() : label.end()].isupper() and text[glance.start() - 1 : glance.start()] == "="
    return is_variable or _ends_line(text, glance.end()) or text[glance.end() : glance.end() + 1] in (",", ";")


def _ends_line(text: str, end: int) -> bool:
    return text[end : end + 8].lstrip(" \t")[:1] in ("", "\n", "\r")


# -- `mysql -p x`, `curl -u user:x`

_ARGUMENT: Final = re.compile(
    r"(?P<option>-(?<!\S-)(?:p[ \t=]{0,2}|(?:u|-user|-proxy-user)[ \t=]{1,2}[\"']?[^\s:\"']{1,64}:))"
    r"(?P<quote>[\"']?)(?P<value>[^\s\"'\-][^\s\"']*+)"
)
_TAKES_PASSWORD: Final = re.compile(
    r"\b(?:mysql\w*|mariadb\w*|sshpass|login|htpasswd|ldap\w+|mongo\w*|curl|wget|http)\b"
)
_PROGRAM: Final = re.compile(r"(?:java|lib|node|perl|php|python|ruby)[\w\-]*\Z")
_COMMAND_MAX: Final = 160  # characters looked back for the name of the command


def _mask_argument(match: re.Match[str]) -> str:
    option, value = match["option"], match["value"]
    line = match.string[max(0, match.start() - _COMMAND_MAX) : match.start()].rpartition("\n")[2]
    if _TAKES_PASSWORD.search(line):
        is_secret = not value.isdigit() or option == "-p"
    else:
        is_secret = option[:2] == "-p" and option != "-p" and value.isalnum() and _looks_secret(value)
        is_secret = is_secret and _PROGRAM.match(value) is None
    return f"{option}{match['quote']}{MARK}" if is_secret and not value.startswith(MARK[:-1]) else match[0]


# -- What looks like a secret wherever it stands: keys with a provider's prefix, JWTs, digests, random strings.

_LONG_RUN: Final = re.compile(r"[A-Za-z0-9+/_.~\-]{16,}+={0,2}")
_OWN_TOKEN: Final = re.compile(r"fst_[\w\-]{8,}")
_DIGIT: Final = re.compile("[0-9]")
_UUID: Final = re.compile(r"[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}", re.IGNORECASE)
_HEX: Final = re.compile(r"(?<![0-9a-zA-Z])(?:0x)?[0-9a-f]{32,}+(?![0-9a-zA-Z])", re.IGNORECASE)
_BASE64: Final = re.compile(r"[A-Za-z0-9+/]{40,}={0,2}\Z")
_RANDOM_LENGTH: Final = 20  # characters
_UNIT: Final = re.compile(r"[A-Z]?[a-z]++|[A-Z]++|[0-9]++")
_UNIT_LENGTH: Final = 4  # characters a unit has, at least, in what people spell
_SEPARATOR: Final = re.compile(r"([/.~]+)")
_JOINERS: Final = re.compile(r"[+_\-]+")


def _mask_run(match: re.Match[str]) -> str:
    """A path, an address or a dotted name keeps the parts that are no secrets."""
    run = match[0].rstrip(".~-")
    end = match[0][len(run) :]
    if _DIGIT.search(run) is None:
        return match[0]
    if _is_key(run) or _is_base64(run):
        return MARK + end
    parts = [MARK if _is_key(part) or _is_random(part) else part for part in _SEPARATOR.split(run)]
    # What is left between marks are runs, too; at most once more, since their parts have been looked at.
    return (_LONG_RUN.sub(_mask_run, "".join(parts)) if MARK in parts else run) + end


def _is_key(run: str) -> bool:
    if len(run) < 12:
        return False
    return (is_key(run) and _DIGIT.search(run) is not None) or _OWN_TOKEN.match(run) is not None


def _is_base64(run: str) -> bool:
    """Whether a run is Base64 with slashes in it: in a path some part is a plain word."""
    return (
        "/" in run
        and _BASE64.match(run) is not None
        and not any(len(part) > 2 and part[1:].islower() and part.isalpha() for part in run.split("/"))
        and _is_random(run.replace("/", ""))
    )


def _is_random(part: str) -> bool:
    """Whether a part is a long hexadecimal number, or changes too often between cases and digits to be spelled."""
    if len(part) < _RANDOM_LENGTH:
        return False
    part = _UUID.sub("", part)
    if (digest := _HEX.search(part)) is not None and not digest[0].isdigit() and not digest[0].isalpha():
        return True
    if part.isalpha() or not any(map(str.isdigit, part)) or not any(map(str.isalpha, part)):
        return False
    changes = len(_UNIT.findall(part)) - len(_JOINERS.findall(part))
    return len(part) >= _RANDOM_LENGTH and changes * _UNIT_LENGTH > len(part)
