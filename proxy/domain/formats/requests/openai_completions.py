"""Requests to OpenAI's ``/v1/completions``: a prompt, flattened or not, and nothing beside it."""

from proxy.domain.formats.base import GAP, Edit, Part, Payload, Prompt
from proxy.domain.formats.requests import litellm_flattened
from proxy.domain.formats.requests.options import is_stream, model_of, warm


class Completions:
    name = "completions"

    def read(self, payload: Payload) -> Prompt | None:
        """A text that is not flattened takes no block at its end: it is continued exactly there."""
        prompt = payload.get("prompt")
        if not isinstance(prompt, str) or not prompt or payload.get("suffix"):
            return None
        model, asks_stream = model_of(payload), is_stream(payload, default=False)
        if litellm_flattened.is_flattened(prompt):
            return litellm_flattened.read(prompt, [], model, has_system=True, is_stream=asks_stream)
        return Prompt(model, [Part("user", prompt, 0)], has_system=True, is_stream=asks_stream)

    def apply(self, payload: Payload, prompt: Prompt, edit: Edit) -> None:
        text = payload["prompt"]
        if isinstance(prompt, litellm_flattened.FlattenedPrompt):
            text = litellm_flattened.edited(text, prompt, edit)
            payload["prompt"] = litellm_flattened.headed(text, edit.top) if edit.top else text
        elif edit.top:
            payload["prompt"] = edit.top + GAP + text

    def warm(self, payload: Payload, by: float, seed: int) -> None:
        warm(payload, by, default=1.0)
        payload["seed"] = seed


COMPLETIONS = Completions()
