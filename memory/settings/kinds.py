"""The kinds of values that settings have, each with a description of what it takes."""

from typing import Annotated, Final

from pydantic import AfterValidator, BeforeValidator, Field, StringConstraints

from memory.settings.grammar import Takes


def check_cron(raw: str) -> str:
    """Validate a schedule. Raises ValueError."""
    from celery.schedules import ParseException, crontab  # late: the proxy reads settings without Celery

    try:
        minute, hour, day, month, weekday = raw.split()
        crontab(minute=minute, hour=hour, day_of_month=day, month_of_year=month, day_of_week=weekday)
    except ParseException as error:
        raise ValueError(str(error)) from None
    return raw


MODEL: Final = Takes("a language model, or none")
# The row of a language model; whether it exists is checked on use.
ModelId = Annotated[
    int | None, Field(ge=1, le=2**31 - 1), BeforeValidator(lambda raw: None if raw == "" else raw), MODEL
]
CRON: Final = Takes("five cron fields (minute hour day month weekday)")
Cron = Annotated[str, AfterValidator(check_cron), CRON]

EMBEDDER: Final = Takes("builtin, none, upstream:MODEL, or model:ID of a language model")
EmbedderName = Annotated[
    str, StringConstraints(pattern=r"^(builtin|none|upstream:[^\s]{1,150}|model:[1-9][0-9]{0,8})$"), EMBEDDER
]

PerHour = Annotated[int, Field(ge=0, le=1_000_000)]
