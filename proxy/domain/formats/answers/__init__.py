"""The answers of each wire format: what they say while they pass, how they are ended, how one is made up."""

from collections.abc import Mapping

from proxy.domain.formats.answers.anthropic_messages import MessageAnswers
from proxy.domain.formats.answers.ollama import ChatAnswers, GenerateAnswers
from proxy.domain.formats.answers.openai_chat import ChatCompletionAnswers
from proxy.domain.formats.answers.openai_completions import CompletionAnswers
from proxy.domain.formats.answers.openai_responses import ResponseAnswers
from proxy.domain.formats.base import AnswerFormat

# By path.
ANSWERS: Mapping[str, AnswerFormat] = {
    "/api/chat": ChatAnswers(),
    "/api/generate": GenerateAnswers(),
    "/v1/chat/completions": ChatCompletionAnswers(),
    "/v1/completions": CompletionAnswers(),
    "/v1/responses": ResponseAnswers(),
    "/v1/messages": MessageAnswers(),
}
