"""How the answer is asked for: by which model, as a stream or not, and how far it may stray."""

from proxy.domain.formats.base import Payload

HOTTEST = 2.0  # temperature, the most that OpenAI's API takes; above it models only babble


def model_of(payload: Payload) -> str:
    model = payload.get("model")
    return model if isinstance(model, str) else ""


def is_stream(payload: Payload, *, default: bool) -> bool:
    stream = payload.get("stream")
    return stream if isinstance(stream, bool) else default


def warm_native(payload: Payload, by: float, seed: int) -> None:
    """What Ollama's own formats keep in ``options``; nothing where that is not understood."""
    options = payload.get("options")
    if options is None:
        options = payload["options"] = {}
    if isinstance(options, dict):
        warm(options, by, default=0.8)
        options["seed"] = seed


def warm(options: Payload, by: float, *, default: float, hottest: float = HOTTEST) -> None:
    """Raises the temperature, never over ``hottest``; one that is there already, or is no number, stays."""
    temperature = options.get("temperature")
    if temperature is None:
        temperature = default
    if isinstance(temperature, bool) or not isinstance(temperature, int | float):
        return
    if by > 0 and temperature < hottest:
        options["temperature"] = round(min(temperature + by, hottest), 6)
