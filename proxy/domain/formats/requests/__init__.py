"""Requests, by the wire format in which they come: where their texts are, and where a block goes."""

from collections.abc import Mapping

from proxy.domain.formats.base import RequestFormat
from proxy.domain.formats.requests.anthropic_messages import MESSAGES
from proxy.domain.formats.requests.ollama_chat import CHAT
from proxy.domain.formats.requests.ollama_generate import GENERATE
from proxy.domain.formats.requests.openai_chat import CHAT_COMPLETIONS
from proxy.domain.formats.requests.openai_completions import COMPLETIONS
from proxy.domain.formats.requests.openai_responses import RESPONSES

REQUESTS: Mapping[str, RequestFormat] = {
    "/api/chat": CHAT,
    "/api/generate": GENERATE,
    "/v1/chat/completions": CHAT_COMPLETIONS,
    "/v1/completions": COMPLETIONS,
    "/v1/responses": RESPONSES,
    "/v1/messages": MESSAGES,
}
