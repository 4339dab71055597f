"""The answers of each wire format: what they say while they pass, how they are ended, how one is made up."""

from collections.abc import Mapping

from proxy.domain.answers.chat_completions import ChatCompletionAnswers
from proxy.domain.answers.completions import CompletionAnswers
from proxy.domain.answers.messages import MessageAnswers
from proxy.domain.answers.native import ChatAnswers, GenerateAnswers
from proxy.domain.answers.responses import ResponseAnswers
from proxy.domain.wire import AnswerFormat

# By path.
ANSWERS: Mapping[str, AnswerFormat] = {
    "/api/chat": ChatAnswers(),
    "/api/generate": GenerateAnswers(),
    "/v1/chat/completions": ChatCompletionAnswers(),
    "/v1/completions": CompletionAnswers(),
    "/v1/responses": ResponseAnswers(),
    "/v1/messages": MessageAnswers(),
}
