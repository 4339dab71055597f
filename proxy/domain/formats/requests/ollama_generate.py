"""Requests to Ollama's ``/api/generate``: a prompt, flattened or not, and a system text beside it."""

from proxy.domain.formats.base import GAP, Edit, Part, Payload, Prompt, after
from proxy.domain.formats.requests import litellm_flattened
from proxy.domain.formats.requests.options import is_stream, model_of, warm_native


class Generate:
    name = "generate"

    def read(self, payload: Payload) -> Prompt | None:
        prompt, system = payload.get("prompt"), payload.get("system")
        if not isinstance(prompt, str) or not prompt or not isinstance(system, str | None):
            return None  # loads or unloads the model, or is not understood
        if payload.get("raw") or payload.get("suffix") or payload.get("template"):
            return None
        top = [Part("system", system, 0)] if system else []
        model, asks_stream = model_of(payload), is_stream(payload, default=True)
        if litellm_flattened.is_flattened(prompt):
            has_system = bool(system) or prompt.startswith(litellm_flattened.SYSTEM_HEADER)
            return litellm_flattened.read(prompt, top, model, has_system=has_system, is_stream=asks_stream)
        parts = [*top, Part("user", prompt, len(top), takes_block=True)]
        return Prompt(model, parts, bool(system), asks_stream)

    def apply(self, payload: Payload, prompt: Prompt, edit: Edit) -> None:
        text, system = payload["prompt"], payload.get("system")
        if edit.tails or edit.without:
            payload["prompt"] = text = changed(text, prompt, edit)
        if not edit.top:
            return
        if system:
            payload["system"] = edit.top + GAP + system
        elif prompt.has_system:
            payload["prompt"] = litellm_flattened.headed(text, edit.top)
        else:
            payload["system"] = after(edit.modelfile_system, edit.top)

    def warm(self, payload: Payload, by: float, seed: int) -> None:
        warm_native(payload, by, seed)


def changed(text: str, prompt: Prompt, edit: Edit) -> str:
    """The prompt's text with its tails and without what is taken out."""
    if isinstance(prompt, litellm_flattened.FlattenedPrompt):
        return litellm_flattened.edited(text, prompt, edit)
    said, tail = text.rstrip(), edit.tails.get(len(prompt.parts) - 1)
    return after(said, tail) + text[len(said) :] if tail else text


GENERATE = Generate()
