"""The models of the stand-in: each name is a behaviour."""

import re
from dataclasses import dataclass, replace
from enum import Enum, auto

SKY = "The sky is blue because of Rayleigh scattering: short waves of light are scattered most."
PIRATE = "You are a pirate. Answer every question in one short sentence."
SAME_CALL = '{"thoughts": ["I look again."], "tool_name": "look", "tool_args": {"path": "/nowhere"}}'
BABBLE = "I will look at it once more, and then I will look at it again. " * 400
AGENT_CALL = '{"thoughts": ["I know this."], "tool_name": "response", "tool_args": {"text": "It is blue."}}'
# Has letters of two and three bytes, to be torn apart. No two sentences are equal, so that it is no loop.
EUROS = "".join(f"Ein Haus für {price} € steht in Köln. " for price in range(300_000, 303_000))

MAX_SLOWNESS_MS = 600_000

NOTE = "<loop_warning>"  # in prompts that warn a looping model
COOL = 0.8  # Ollama's default temperature


class Fault(Enum):
    """A fault and its moment."""

    HANG_BEFORE = auto()  # before the status
    HANG_HEADERS = auto()  # after the headers
    HANG = auto()  # after the first chunk
    ERROR = auto()  # after the first chunk
    CUT = auto()  # after the first chunk
    NO_DONE = auto()  # after the last word


@dataclass(frozen=True, slots=True)
class Model:
    """A behaviour.

    - ``says`` is sent in chunks of ``chunk_chars`` (0: at most 64 chunks), each after ``delay_ms``
    - the lines are sent in pieces of ``piece_bytes`` (0: whole)
    - ``gives_way_with`` is said instead, without tool calls, once the prompt has the note or the temperature is raised
    """

    about: str
    says: str = SKY
    thinks: str = ""
    system: str = ""
    capabilities: tuple[str, ...] = ("completion", "tools", "insert")
    echoes: bool = False
    calls_tools: bool = False
    gives_way_with: str = ""
    refuses_with: tuple[int, str] | None = None
    fault: Fault | None = None
    delay_ms: int = 0
    chunk_chars: int = 0
    piece_bytes: int = 0


BUSY = (503, "server busy, please try again.  maximum pending requests exceeded")
CRASHED = (500, "llama runner process has terminated: exit status 2")

MODELS = {
    "llama3": Model("a short text about the sky"),
    "system-model": Model("the same; its Modelfile has a SYSTEM text", system=PIRATE),
    "thinker": Model(
        "the same after some thinking",
        thinks="Why is it blue? Because of the air.",
        capabilities=("completion", "tools", "insert", "thinking"),
    ),
    "echo": Model("the prompt that arrived, as JSON: chat's messages; generate's system and prompt", echoes=True),
    "tool-call": Model(
        "a call of the first tool offered; with no tools, a tool call in Agent Zero's JSON",
        says=AGENT_CALL,
        calls_tools=True,
    ),
    "stubborn": Model(
        "the same call again and again, as tool-call makes it, until it is told of its loop or gets warmer",
        says=SAME_CALL,
        calls_tools=True,
        gives_way_with=AGENT_CALL,
    ),
    "stuck": Model("the same call again and again, whatever it is told", says=SAME_CALL, calls_tools=True),
    "babbler": Model("one sentence again and again within one answer", says=BABBLE, chunk_chars=60, delay_ms=2),
    "long-lines": Model(
        "lines of over 60 KB, torn apart on the way",
        says=EUROS,
        chunk_chars=len(EUROS) // 2,
        piece_bytes=4093,
    ),
    "embedder": Model("embeddings only: 400 for a chat", capabilities=("embedding",)),
    "slow": Model("300 ms before each chunk; slow-20ms, slow-5000ms and so on: that long", delay_ms=300),
    "fail-before": Model("500 before the first byte", refuses_with=CRASHED),
    "busy": Model("503, the queue is full", refuses_with=BUSY),
    "fail-mid": Model(
        "an error as second and last line (500 where nothing is streamed); /v1 streams only end there",
        fault=Fault.ERROR,
    ),
    "no-done": Model("all of the text, but the stream ends without done", fault=Fault.NO_DONE),
    "cut": Model("closes the connection in the middle of the second line", fault=Fault.CUT),
    "hang": Model("the first chunk, then silence", fault=Fault.HANG),
    "hang-headers": Model("status and headers, then silence", fault=Fault.HANG_HEADERS),
    "hang-before": Model("silence from the start", fault=Fault.HANG_BEFORE),
}

CATALOGUE = "models (llama3 and llama3:latest are the same):\n" + "\n".join(
    f"  {name:<14}{model.about}" for name, model in MODELS.items()
)


def bare_name(name: str) -> str:
    """Return the name as the shelf has it: lower case, without the default registry and tag."""
    return name.lower().removeprefix("registry.ollama.ai/").removeprefix("library/").removesuffix(":latest")


def slow_model(bare: str) -> Model | None:
    """Return the model of a name such as ``slow-200ms``, or None for other names."""
    match = re.fullmatch(r"slow-(\d{1,6})ms", bare)
    if not match or int(match[1]) > MAX_SLOWNESS_MS:
        return None
    return replace(MODELS["slow"], delay_ms=int(match[1]))
