"""Requests, by the wire format in which they come: where their texts are, and where a block goes."""

from collections.abc import Mapping

from proxy.domain.requests.chat import CHAT
from proxy.domain.requests.chat_completions import CHAT_COMPLETIONS
from proxy.domain.requests.completions import COMPLETIONS
from proxy.domain.requests.generate import GENERATE
from proxy.domain.requests.messages import MESSAGES
from proxy.domain.requests.responses import RESPONSES
from proxy.domain.wire import RequestFormat

REQUESTS: Mapping[str, RequestFormat] = {
    "/api/chat": CHAT,
    "/api/generate": GENERATE,
    "/v1/chat/completions": CHAT_COMPLETIONS,
    "/v1/completions": COMPLETIONS,
    "/v1/responses": RESPONSES,
    "/v1/messages": MESSAGES,
}
