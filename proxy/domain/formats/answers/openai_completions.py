"""``/v1/completions``: like chats, with a bare text."""

from proxy.domain.formats.answers.framing import SSE_TYPE, TRANSLATED_TYPE, Json, data, line, text_at
from proxy.domain.formats.answers.openai_chat import USAGE, ChunkWatch, head_of
from proxy.domain.formats.answers.stream_reader import ended


class CompletionWatch(ChunkWatch):
    def _said(self, choice: Json) -> str:
        return text_at(choice, "text")

    def _finished(self) -> Json:
        return choice_of("", "stop")


class CompletionAnswers:
    def watch(self) -> CompletionWatch:
        return CompletionWatch()

    def made_up(self, model: str, text: str, *, is_stream: bool, now: float, unique: str) -> tuple[str, bytes]:
        head = head_of(f"cmpl-{unique}", "text_completion", model, now)
        if not is_stream:
            return TRANSLATED_TYPE, line({**head, "choices": [choice_of(text, "stop")], "usage": USAGE})
        return SSE_TYPE, ended(data({**head, "choices": [choice_of(text, None)]}), self.watch())


def choice_of(text: str, finish_reason: str | None) -> Json:
    return {"text": text, "index": 0, "finish_reason": finish_reason}
