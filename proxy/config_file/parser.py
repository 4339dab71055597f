"""Parses ``config.yaml`` into rules, or into a list of everything that is wrong with it."""

import re
from collections.abc import Iterator, Sequence
from difflib import get_close_matches
from typing import Any

import yaml
from pydantic import ValidationError
from pydantic.fields import FieldInfo
from pydantic_core import ErrorDetails

from memory.settings.grammar import abbreviate, describe_mistake, show_value
from proxy.domain.config_schema import Rules, Section


class RulesMistakes(ValueError):
    """The text cannot be used. ``mistakes`` lists everything that is wrong with it, each with its position."""

    def __init__(self, *mistakes: str) -> None:
        super().__init__("; ".join(mistakes))
        self.mistakes = list(mistakes)

    def as_lines(self, file: object) -> str:
        """Return the mistakes for people to read, one on each line."""
        return "\n".join([f"{file} cannot be used:", *(f"  {mistake}" for mistake in self.mistakes)])


TAG = "tag:yaml.org,2002:{}"
KINDS = ("null", "bool", "int", "float", "str", "seq", "map")


class Plain(yaml.SafeLoader):
    """Reads plain words as YAML 1.2 does (its Core Schema, section 10.3.2), but only decimal numbers without leading
    zeros: ``on``, ``no``, ``010`` and ``1:30`` are strings, and so a mistake where a number is expected."""

    # Built on the parser in Python: libyaml's crashes the process on a text with many brackets.
    yaml_implicit_resolvers: dict[str, list[tuple[str, re.Pattern[str]]]] = {}
    yaml_constructors = {tag: yaml.SafeLoader.yaml_constructors[tag] for tag in [None, *map(TAG.format, KINDS)]}

    def construct_object(self, node: yaml.Node, deep: bool = False) -> Any:
        """Raises ConstructorError also if an explicit tag does not fit."""
        try:
            return super().construct_object(node, deep)
        except (ValueError, LookupError):
            value = abbreviate(node.value) if isinstance(node, yaml.ScalarNode) else "this"
            problem = f"{value} is not of the kind {node.tag}"
            raise yaml.constructor.ConstructorError(problem=problem, problem_mark=node.start_mark) from None

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        """Raises ConstructorError also for a duplicate key."""
        found = super().construct_mapping(node, deep)
        names = set()
        for key in [key for key, _ in node.value if isinstance(key, yaml.ScalarNode)]:
            if key.value in names:
                problem = f"{abbreviate(key.value)} stands twice"
                raise yaml.constructor.ConstructorError(problem=problem, problem_mark=key.start_mark)
            names.add(key.value)
        return found


for kind, plain, beginnings in (
    ("null", r"~|null|Null|NULL|", ["~", "n", "N", ""]),
    ("bool", r"true|True|TRUE|false|False|FALSE", "tTfF"),
    ("int", r"[-+]?(0|[1-9][0-9]{0,17})", "-+0123456789"),
    ("float", r"[-+]?(\.[0-9]+|(0|[1-9][0-9]{0,17})(\.[0-9]*)?)([eE][-+]?[0-9]{1,3})?", "-+.0123456789"),
):
    Plain.add_implicit_resolver(TAG.format(kind), re.compile(rf"(?:{plain})\Z"), list(beginnings))


def read(text: str) -> Rules:
    """Return the rules in the text of a file. Raises RulesMistakes."""
    try:
        return Rules.model_validate(parse_yaml(text), by_alias=True, by_name=False)
    except ValidationError as error:
        found = error.errors(include_url=False, include_context=False)
        raise RulesMistakes(*dict.fromkeys(map(describe, found))) from None


def parse_yaml(text: str) -> object:
    """Raises RulesMistakes, with line and column, if the text is not YAML."""
    try:
        return yaml.load(text, Plain)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        place = f"line {mark.line + 1}, column {mark.column + 1}: " if mark else ""
        raise RulesMistakes(place + abbreviate(error.problem or error.context or "")) from None
    except yaml.reader.ReaderError as error:
        line = text.count("\n", 0, error.position) + 1
        raise RulesMistakes(f"line {line}: a character that YAML does not take (number {error.character})") from None
    except RecursionError:
        raise RulesMistakes("too many brackets or indentations within each other") from None


def describe(mistake: ErrorDetails) -> str:
    """Return the position of the mistake, what is accepted there, and what was found."""
    where = mistake["loc"]
    if mistake["type"] in ("extra_forbidden", "invalid_key"):
        return describe_unknown(where)
    key = ".".join(part for part in where if isinstance(part, str))
    items = [f", item {part + 1}" for part in where if isinstance(part, int)]
    if (field := FIELDS.get(key)) is None:
        return f"{key or 'the file'}: takes the keys {', '.join(names_in(key))}, not {show_value(mistake['input'])}"
    return f"{key}{''.join(items)}: {describe_mistake(field, mistake['input'], of_item=bool(items))}"


def describe_unknown(where: Sequence[int | str]) -> str:
    section, name = ".".join(map(str, where[:-1])), str(where[-1])
    there = names_in(section)
    meant = get_close_matches(name, there, n=1) or [key for key in FIELDS if key.endswith(f".{name}")]
    hint = f"did you mean {meant[0]}?" if meant else f"{section or 'the file'} takes {', '.join(there)}"
    return f"{section}{section and '.'}{abbreviate(name)}: there is no such key; {hint}"


def fields_of(section: type[Section], at: str = "") -> Iterator[tuple[str, FieldInfo]]:
    for name, field in section.model_fields.items():
        key = at + (field.alias or name)
        if isinstance(field.annotation, type) and issubclass(field.annotation, Section):
            yield from fields_of(field.annotation, f"{key}.")
        else:
            yield key, field


FIELDS = dict(fields_of(Rules))  # by the key in the file


def names_in(section: str) -> list[str]:
    """Return the names right below a section, "" for the file itself."""
    start = f"{section}." if section else ""
    return list(dict.fromkeys(key[len(start) :].partition(".")[0] for key in FIELDS if key.startswith(start)))
