"""The settings that operators change while Festinger runs: the rows of ``config``.

``Tuning`` is both the registry (each field's group, type, range, default and help, here and nowhere else) and the typed
values of the stored rows that a process keeps."""

from collections.abc import Mapping
from typing import Annotated, Any, Final, Literal, cast

from pydantic import (
    AfterValidator,
    BeforeValidator,
    ConfigDict,
    Field,
    StringConstraints,
    TypeAdapter,
    ValidationError,
)
from pydantic.dataclasses import dataclass
from pydantic.fields import FieldInfo

from memory.settings import retired
from memory.settings.grammar import Takes, describe_mistake
from memory.types import Style


class ConfigMistake(ValueError):
    """A key is unknown, or its value is not of its type or range. The message says what it takes."""


def check_cron(raw: str) -> str:
    """Validate a schedule. Raises ValueError."""
    from celery.schedules import ParseException, crontab  # late: the proxy reads settings without Celery

    try:
        minute, hour, day, month, weekday = raw.split()
        crontab(minute=minute, hour=hour, day_of_month=day, month_of_year=month, day_of_week=weekday)
    except ParseException as error:
        raise ValueError(str(error)) from None
    return raw


# The row of a language model; whether it exists is checked on use.
ModelId = Annotated[
    int | None,
    Field(ge=1, le=2**31 - 1),
    BeforeValidator(lambda raw: None if raw == "" else raw),
    Takes("a language model, or none"),
]
CRON: Final = Takes("five cron fields (minute hour day month weekday)")
Cron = Annotated[str, AfterValidator(check_cron), CRON]
EmbedderName = Annotated[
    str,
    StringConstraints(pattern=r"^(builtin|none|upstream:[^\s]{1,150}|model:[1-9][0-9]{0,8})$"),
    Takes("builtin, none, upstream:MODEL, or model:ID of a language model"),
]
Tokens = Annotated[int, Field(ge=0, le=10_000)]
PerHour = Annotated[int, Field(ge=0, le=1_000_000)]
Saliency = Annotated[float, Field(ge=0, le=10)]
Switch = Literal["off", "on"]


def setting(group: str, default: Any, help: str) -> Any:
    return Field(default, description=help, json_schema_extra={"group": group})


RECOLLECTING = "Recollecting"
REMEMBERING = "Remembering"
LEARNING = "Learning"
QUOTAS = "Quotas"
RESOLVING = "Resolving conflicts"
MODELS = "Language models"
OPERATING = "Operating"


# A dataclass, since prompts read it: an attribute of a BaseModel takes three times as long.
@dataclass(frozen=True, slots=True, config=ConfigDict(extra="forbid", allow_inf_nan=False))
class Tuning:
    """All settings with their values, in the order in which operators see them; without arguments, the defaults."""

    saliency_read_threshold: Saliency = setting(
        RECOLLECTING, 0.5, "How salient a concept must be to be recalled: log10 of the number of messages that name it."
    )
    recollection_confidence_floor: Annotated[float, Field(ge=0, le=1)] = setting(
        RECOLLECTING, 0.6, "Facts below this confidence are not recalled."
    )
    recollection_recency_days: Annotated[float, Field(ge=0, le=36500)] = setting(
        RECOLLECTING, 90.0, "Facts that were not confirmed for this many days are not recalled."
    )
    recollection_max_tokens: Tokens = setting(
        RECOLLECTING, 350, "Length of the profile, facts and questions of one block, in tokens of 4 characters."
    )
    recollection_max_profile_tokens: Tokens = setting(
        RECOLLECTING,
        150,
        "Length of the profile alone: who the speaker is and what they always want, once in a conversation.",
    )
    recollection_max_total_tokens: Annotated[int, Field(ge=0, le=100_000)] = setting(
        RECOLLECTING, 1500, "Length of all blocks of one conversation, in tokens of 4 characters."
    )
    recall_current: Switch = setting(
        RECOLLECTING,
        "on",
        "on: memories and messages are searched for each new message of a user, which waits for them, at most 40 ms;"
        " off: only for the messages before it, while the model answers.",
    )
    recollection_placement: Literal["tail", "system"] = setting(
        RECOLLECTING,
        "tail",
        "tail: new facts go to the end of the last message, where models use them best, and stay there, so that the"
        " model need not read all again. system: one block before the system text, written again for each prompt.",
    )
    recollection_style: Style = setting(
        RECOLLECTING,
        "sentences",
        "How facts are written. sentences: kvasir runs on tyr., one a line, which small models understand best;"
        " compact: kvasir: [runs-on] tyr [type] service, all of a concept on one line, which is shorter.",
    )
    zero_hit_max: Annotated[int, Field(ge=0, le=20)] = setting(
        RECOLLECTING, 1, "Most unknown names that one block asks about; 0 asks nothing."
    )
    episodes: Literal["on", "off", "all"] = setting(
        REMEMBERING,
        "on",
        "on: messages of users and models are kept, secrets masked, and found again by the same person; of agents"
        " without a token only on this machine. all: of all agents without a token, too. off: nothing new is stored;"
        " the command forget deletes those that are.",
    )
    episode_days: Annotated[int, Field(ge=1, le=36_500)] = setting(
        REMEMBERING, 90, "For how many days messages are kept; memories made of them stay."
    )
    embedder: EmbedderName = setting(
        REMEMBERING,
        "builtin",
        "What turns memories and messages into vectors, so that they are found by their meaning. builtin: a small"
        " English model that comes with Festinger; upstream:MODEL: one of the upstream's, such as"
        " upstream:nomic-embed-text; model:ID: a language model by its id; none: only their words count. After a change"
        " all vectors are made anew, in the background.",
    )
    saliency_write_threshold: Saliency = setting(
        LEARNING, 1.2, "How salient an unknown concept must be before a language model is asked about it."
    )
    share_unsure: Literal["speaker", "agents", "all"] = setting(
        LEARNING,
        "speaker",
        "Who gets speaker-only facts before another source states them: speaker, the agent and person"
        " who said it; agents, all agents with a token; all, everybody.",
    )
    names: Literal["people", "assistants", "ignored"] = setting(
        LEARNING,
        "people",
        "Who sends user messages with a name, as in group chats: people, each a person of their own, whose statements"
        " hold for them alone until another says the same; assistants, other agents; ignored, the user.",
    )
    quota_facts_per_hour: PerHour = setting(
        QUOTAS,
        100,
        "New facts that prompts of one agent, or gutask with its token, may state within an hour."
        " Agents without a token are counted together. More wait among the candidates.",
    )
    quota_conflicts_per_hour: PerHour = setting(
        QUOTAS, 20, "Conflicts that statements of one agent may open within an hour, counted in the same way."
    )
    resolution_schedule: Cron = setting(
        RESOLVING, "0 2 * * *", "When the resolver runs: five cron fields, in FESTINGER_TIME_ZONE."
    )
    resolution_mode: Literal["auto", "propose"] = setting(
        RESOLVING, "auto", "auto: the resolver applies what the model decides; propose: an operator approves it first."
    )
    write_model_id: ModelId = setting(
        MODELS, None, "The language model that is asked about unknown concepts; without one they wait."
    )
    resolve_model_id: ModelId = setting(
        MODELS, None, "The language model that resolves conflicts; without one operators decide them."
    )
    consolidate_model_id: ModelId = setting(
        MODELS,
        None,
        "The language model that is asked at night about memories that the rules cannot decide, and that derives new"
        " ones from users' messages, which are sent to it; without one neither is done.",
    )
    detective_model_id: ModelId = setting(
        MODELS,
        None,
        "The language model that reads project histories and asks where they are ambiguous. Their memories,"
        " facts and state are sent to it. Without one only rules look.",
    )
    llm_daily_calls: Annotated[int, Field(ge=0, le=1_000_000)] = setting(
        MODELS,
        1000,
        "Most calls of language models in one day; each retry counts. Unknown words may take 70 % of them, stories 20 %"
        " and memories 5 %, so that conflicts get the rest.",
    )
    llm_timeout_s: Annotated[float, Field(ge=1, le=3600)] = setting(
        MODELS, 60.0, "Seconds a language model may take for one answer, including retries and pauses."
    )
    idle_s: Annotated[float, Field(ge=0, le=3600)] = setting(
        MODELS,
        600.0,
        "Seconds without a prompt before a model of the upstream is called; a prompt ends the call. By then Ollama has"
        " dropped its memory of the last conversation anyway.",
    )
    backups_kept: Annotated[int, Field(ge=0, le=1_000)] = setting(
        OPERATING, 3, "Nightly backups to keep, in backups/ of the home; 0: none is made."
    )
    live_prompt_text: Switch = setting(
        OPERATING,
        "off",
        "on: the user's last message is kept with each request for 7 days, secrets masked, and shown in the live view;"
        " off: it is not kept, and what was kept is deleted within a minute.",
    )

    @property
    def keeps_prompt_text(self) -> bool:
        return self.live_prompt_text == "on"


VALIDATOR: Final = TypeAdapter(Tuning)
REGISTRY: Final[dict[str, FieldInfo]] = Tuning.__pydantic_fields__  # type: ignore[attr-defined]


def group_of(key: str) -> str:
    return str(cast(dict[str, Any], REGISTRY[key].json_schema_extra)["group"])


def parse(key: str, raw: str) -> Any:
    """Return the typed value of a stored text. Raises ConfigMistake."""
    if key not in REGISTRY:
        raise ConfigMistake(f"{key} is not a setting")
    tuning, mistakes = read_rows({key: raw})
    if mistakes:
        raise ConfigMistake(mistakes[0])
    return getattr(tuning, key)


def as_text(value: Any) -> str:
    return "" if value is None else str(value)


def defaults() -> dict[str, str]:
    return {key: as_text(field.default) for key, field in REGISTRY.items()}


def read_rows(rows: Mapping[str, str]) -> tuple[Tuning, list[str]]:
    """Return the typed values of stored rows, and what is wrong with them. A bad value is replaced by its default. Rows
    of other versions' settings are ignored."""
    # Not refused as a whole: a mistake in one row must not stop recollection.
    stored = {key: raw.strip() for key, raw in rows.items() if key in REGISTRY}
    try:
        return VALIDATOR.validate_python(stored), []
    except ValidationError as error:
        bad = dict.fromkeys(str(mistake["loc"][0]) for mistake in error.errors())
    good = {key: raw for key, raw in stored.items() if key not in bad}
    mistakes = [f"{key} {describe_mistake(REGISTRY[key], stored[key])}" for key in bad]
    return VALIDATOR.validate_python(good), mistakes


def list_ignored(rows: Mapping[str, str]) -> list[str]:
    """List the stored rows of other versions' settings, each with what holds instead."""
    ignored = {key: rows[key] for key in sorted(rows.keys() - REGISTRY.keys())}
    return retired.describe_ignored(ignored, retired.SETTINGS)
