"""Asks a language model: retries, pauses, the total time limit, and the log of it."""

import asyncio
import logging
import random
import time
from collections.abc import Callable, Coroutine, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from importlib import import_module
from types import ModuleType
from typing import Any, Final, Literal, NamedTuple, TypeVar, cast

from django.conf import settings
from django.utils.module_loading import import_string

from memory.access import key_encryption
from memory.llm import call_log, idle
from memory.llm.call_log import Usage
from memory.llm.errors import (
    Busy,
    HttpFailure,
    LlmError,
    Misconfigured,
    NoBudget,
    NoModel,
    Refused,
    Unavailable,
    Unreadable,
    no_answer,
)  # fmt: skip
from memory.llm.json_answer import AnswerMistake, read_object
from memory.llm.providers import claude, ollama, openai
from memory.llm.types import Access, Embedded, Provider, Question, Reply
from memory.models import Config, LanguageModel, LlmCall, UpstreamModel
from memory.secrets.redaction import mask_secrets
from memory.settings.registry import Tuning

logger = logging.getLogger(__name__)

Sent = TypeVar("Sent", Reply, Embedded)
Read = TypeVar("Read")

TRIES: Final = 3
FIRST_PAUSE_S = 0.5  # doubled from try to try
JITTER: Final = 0.25  # so that workers that failed together do not retry together
ERROR_MAX: Final = 1_000  # characters of an error that are shown

# The settings that name a model.
Use = Literal["write_model_id", "resolve_model_id", "consolidate_model_id", "detective_model_id"]


class ModelUse(NamedTuple):
    """The use of a setting that names a model. ``does``: what the model does; ``without``: what happens without it."""

    purpose: str
    does: str
    without: str

    @property
    def lack(self) -> str:
        return f"No language model {self.does}: {self.without}."


USES: Final[dict[Use, ModelUse]] = {
    "write_model_id": ModelUse("unknown concepts", "is asked about unknown concepts", "they wait for one"),
    "resolve_model_id": ModelUse("conflicts", "resolves conflicts automatically", "operators decide them"),
    "consolidate_model_id": ModelUse("memories", "consolidates memories at night", "only rules do"),
    "detective_model_id": ModelUse(
        "the narrative detective", "reads project histories", "only rules look for what they leave open"
    ),
}
PROVIDERS: Final[dict[str, ModuleType]] = {"claude": claude, "openai": openai, "ollama": ollama}
OWN_ADDRESSES: Final = {"claude": "https://api.anthropic.com", "openai": "https://api.openai.com/v1"}

TRIAL_SCHEMA: Final[dict[str, Any]] = {
    "type": "object",
    "properties": {"reasoning": {"type": "string"}, "is_there": {"type": "boolean"}},
    "required": ["reasoning", "is_there"],
    "additionalProperties": False,
}

# Options that a model or its server was found to refuse, while this process runs: by provider, address and name.
_REFUSED: dict[tuple[str, str, str], frozenset[str]] = {}


@dataclass(frozen=True, slots=True)
class Answer:
    """A value read from the answer, by default the object itself."""

    data: Any
    usage: Usage
    model: str


def ask(
    model: LanguageModel,
    purpose: LlmCall.Purpose,
    subject: str,
    *,
    system: str,
    prompt: str,
    schema: dict[str, Any],
    is_strict: bool = False,
    is_asked_for: bool = False,
    read: Callable[[dict[str, Any]], Any] = dict,
) -> Answer:
    """Return what ``read`` makes of the model's answer: an object with the schema's required properties, the outermost
    of the right type. An answer for which it raises ValueError is refused. Raises Busy if the model is the upstream's
    and somebody uses that, unless a person waits (``is_asked_for``).

    Blocks for up to ``llm_timeout_s``, including retries. Each request is a row of ``llm_call`` and counts for
    ``llm_daily_calls``. Not within a transaction. ``schema`` is limited to what all providers accept: objects have
    ``additionalProperties: false`` and require all their properties, nothing has bounds. If ``is_strict``, an answer
    with anything besides the object is unreadable. Raises LlmError."""
    tuning = Config.tuning()
    call = _Call(model, purpose, subject, tuning, waits_for_idle=is_upstream(model) and not is_asked_for)
    if call.waits_for_idle:
        idle.require_idle(tuning.idle_s)
    # Before the clock starts: the import takes seconds the first time, and does not happen in processes that never ask.
    import_module(call.provider.SDK)
    question = Question(system, prompt, schema, is_strict)
    end = time.monotonic() + tuning.llm_timeout_s
    tries = 1
    while True:
        try:
            data = call.once(
                lambda: call.provider.send(call.access, question, call.without),
                lambda reply: read_answer(question, reply, read),
                end,
            )
            return Answer(data, call.usage, str(model))
        except HttpFailure as failure:
            if call.goes_on_without(failure):
                continue
            pause_s = failure.retry_after_s
            if not pause_s:
                pause_s = FIRST_PAUSE_S * 2.0 ** (tries - 1) * random.uniform(1 - JITTER, 1 + JITTER)
            if not failure.may_pass or tries == TRIES or time.monotonic() + pause_s >= end:
                raise call.as_error(failure) from None
        time.sleep(pause_s)
        tries += 1


def read_answer(question: Question, reply: Reply, read: Callable[[dict[str, Any]], Read]) -> Read:
    """Read the object in the reply. Raises Refused, Unreadable."""
    if not isinstance(reply.text, str):
        raise Unreadable("There is no text in the answer.")
    if reply.ending == "refused":
        raise Refused(f"It refused to answer. {reply.text}")
    if reply.ending == "cut":
        raise Unreadable("The answer is cut: it reached the bound of its tokens.")
    try:
        found = read_object(reply.text, question.schema, is_strict=question.is_strict)
    except AnswerMistake as mistake:
        raise Unreadable(f"The answer cannot be read: {mistake}.") from None
    try:
        return read(found)
    except ValueError as mistake:
        raise Unreadable(str(mistake)) from None


def embed_texts(model: LanguageModel, texts: Sequence[str], timeout_s: float) -> list[list[float]]:
    """Return a vector for each text, with one request. It does not count for the day's calls, which are for questions.
    Raises LlmError."""
    call = _Call(model, LlmCall.Purpose.EMBED, f"{len(texts)} texts", None)
    send = getattr(call.provider, "embed", None)
    if send is None:
        raise Misconfigured(f"{model} cannot turn texts into vectors: choose another embedder in the settings.")
    try:
        return call.once(
            lambda: send(call.access, texts), partial(read_vectors, len(texts)), time.monotonic() + timeout_s
        )
    except HttpFailure as failure:
        raise call.as_error(failure) from None


def read_vectors(count: int, embedded: Embedded) -> list[list[float]]:
    """Check that these are ``count`` lists of numbers. Raises Unreadable."""
    vectors = embedded.vectors
    if not isinstance(vectors, list) or len(vectors) != count:
        raise Unreadable("There is not one vector for each text in the answer.")
    for vector in vectors:
        if not isinstance(vector, list) or not vector or not all(isinstance(number, int | float) for number in vector):
            raise Unreadable("A vector in the answer is no list of numbers.")
    return vectors


def try_out(model: LanguageModel) -> Answer:
    """Ask the model for almost nothing, in the form of real questions. Raises LlmError."""
    system = "You test a connection. Give your reasoning in a few words."
    purpose = LlmCall.Purpose.TEST
    prompt = "Say that you are there."
    return ask(model, purpose, "", system=system, prompt=prompt, schema=TRIAL_SCHEMA, is_asked_for=True)


def find_chosen(setting: Use, tuning: Tuning | None = None) -> LanguageModel:
    """Return the model that operators chose for this. Raises NoModel, which says what to do."""
    model_id = getattr(tuning or Config.tuning(), setting)
    if model_id is None:
        raise NoModel("No model is chosen: set one up under Language models (optional).")
    model = LanguageModel.objects.filter(pk=model_id).first()
    if model is None:
        raise NoModel(f"There is no model {model_id}: choose another under Language models.")
    return model


def missing(setting: Use, tuning: Tuning | None = None) -> str:
    """Return what it means that no model is chosen for this, and what to do; "" if one is."""
    try:
        find_chosen(setting, tuning)
    except NoModel as error:
        return f"{USES[setting].lack} {error}"
    return ""


def tell_in_use(setting: Use) -> str:
    """Return when clients used the upstream, whose model is chosen for this, and what a run means for them; "" if it
    would slow nobody."""
    tuning = Config.tuning()
    with suppress(NoModel):
        model = find_chosen(setting, tuning)
        try:
            if is_upstream(model):
                idle.require_idle(tuning.idle_s)
        except Busy as busy:
            return f"{busy} A run with {model} now slows the answers of clients."
    return ""


def is_upstream(model: LanguageModel) -> bool:
    """True if it is a model of the Ollama behind Festinger, which clients use."""
    return model.provider == LanguageModel.Provider.OLLAMA and not model.base_url


def find_upstream() -> str:
    """Return the present address of the Ollama behind Festinger."""
    return cast(str, import_string(settings.UPSTREAM_URL)())  # by its name: config.yaml belongs to an app above this


def only_proposes(model: LanguageModel) -> bool:
    """True if what the model concludes waits for a person: it is one of the upstream, and often small."""
    return is_upstream(model) and Config.tuning().resolution_mode == "propose"


def access_to(model: LanguageModel) -> Access:
    """Return the access to a model. Raises Misconfigured if the key is missing or cannot be decrypted."""
    if model.lacks_key:
        raise Misconfigured(f"{model} has no key: enter it in the admin, under Language models.")
    try:
        key = key_encryption.decrypt(model.api_key) if model.api_key else ""
    except key_encryption.KeyMistake as mistake:
        raise Misconfigured(f"{model}: {mistake}") from None
    url = model.base_url or OWN_ADDRESSES.get(model.provider)
    if not url:
        url = find_upstream()
    used = UpstreamModel.objects.filter(name=model.model_name).first() if is_upstream(model) else None
    loaded = (used.options, used.keep_alive) if used is not None else ({}, None)
    return Access(model.model_name, url.rstrip("/"), key, *loaded)


class _Call:
    """One question to one model, with what its tries have in common. ``tuning``: None if it asks for vectors, which are
    neither counted for the day nor logged."""

    def __init__(
        self,
        model: LanguageModel,
        purpose: LlmCall.Purpose,
        subject: str,
        tuning: Tuning | None,
        *,
        waits_for_idle: bool = False,
    ) -> None:
        self.waits_for_idle = waits_for_idle
        self.model = model
        self.purpose = purpose
        self.subject = subject
        self.tuning = tuning
        self.access = access_to(model)
        self.provider = cast(Provider, PROVIDERS[model.provider])
        self.place = (model.provider, self.access.url, self.access.name)
        self.failure: HttpFailure | None = None  # the last

    def once(self, send: Callable[[], Coroutine[Any, Any, Sent]], read: Callable[[Sent], Read], end: float) -> Read:
        """Make one request, and its row; until ``end`` of time.monotonic(). Raises HttpFailure, LlmError."""
        call_id = self.begin()
        started = time.monotonic()
        self.usage = Usage(0, 0, None)
        result, error = LlmCall.Result.FAILED, "The process was interrupted."
        try:
            waiting = self.wait_for(send, end - started)
            if self.waits_for_idle and self.tuning is not None:
                waiting = idle.call(waiting, self.tuning.idle_s)
            reply = asyncio.run(waiting)
            self.usage = call_log.usage_of(self.model, reply.input_tokens, reply.output_tokens)
            answer = read(reply)
            result, error = LlmCall.Result.ANSWERED, ""
            return answer
        except HttpFailure as failure:
            self.failure = failure
            error = str(self.as_error(failure))
            raise
        except Busy as failure:
            result, error = LlmCall.Result.ABANDONED, str(failure)
            raise
        except LlmError as failure:
            error = self.clean_text(str(failure))
            if isinstance(failure, Refused | Unreadable):
                result = LlmCall.Result.REFUSED
            raise type(failure)(error) from None  # without the cause, which may quote the key
        finally:
            call_log.count_call(self.model, self.purpose, self.usage, result)
            if call_id is not None:
                call_log.end(call_id, self.usage, result, started=started, error=error)
            if self.tuning is not None:
                logger.info(
                    "llm.asked", extra={"model": self.model.pk, "purpose": self.purpose, "result": result.value}
                )

    def begin(self) -> int | None:
        if self.model.pk is None:  # no row of *Language models*: its calls cost nothing
            return None
        # If the budget runs out between two tries, the operator needs to know what went wrong with the first.
        try:
            return call_log.begin(self.model, self.purpose, self.subject, self.tuning)
        except NoBudget:
            if self.failure is None:
                raise
            raise self.as_error(self.failure) from None

    async def wait_for(self, send: Callable[[], Coroutine[Any, Any, Sent]], timeout_s: float) -> Sent:
        # The clients' own time-outs, which are off, start again with every byte; this one does not.
        try:
            async with asyncio.timeout(timeout_s):
                return await send()
        except TimeoutError:
            limit = ": llm_timeout_s is over" if self.tuning is not None else ""
            raise Unavailable(f"No answer in time{limit}.") from None
        except ValueError as error:  # a body that is declared as JSON and is not
            raise no_answer(error) from None

    @property
    def without(self) -> frozenset[str]:
        return _REFUSED.get(self.place, frozenset())

    def goes_on_without(self, failure: HttpFailure) -> bool:
        """True if the server refused an option that the request had and that can be left out from now on."""
        if failure.status not in (400, 422):
            return False
        for option, signs in self.provider.SIGNS:
            if option not in self.without and any(sign in failure.message for sign in signs):
                _REFUSED[self.place] = self.without | {option}
                return True
        return False

    def as_error(self, failure: HttpFailure) -> LlmError:
        if failure.status == 0:
            return Unavailable(self.clean_text(f"It cannot be reached at {self.access.url}: {failure.message}"))
        message = self.clean_text(failure.message)
        kind = Unavailable if failure.may_pass else Misconfigured
        return kind(f"Status {failure.status}: {message}")

    def clean_text(self, text: str) -> str:
        """Return a text from outside as one line that may be stored and read by people: without the key."""
        line = " ".join(text.replace("\0", "").encode("utf-8", "replace").decode().split())
        if self.access.key:
            line = line.replace(self.access.key, "[key]")
        return mask_secrets(line)[:ERROR_MAX]
