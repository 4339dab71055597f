"""The endpoint ``/v1/audio/transcriptions``: a form with a file, which the model is asked to transcribe."""

import email.policy
from email.message import MIMEPart
from email.parser import BytesParser
from typing import cast

from standin import openai
from standin.completion import Prompt, answer
from standin.incoming import Request
from standin.shelf import Shelf
from standin.speech import Chunk, Shape
from standin.wire import NDJSON_TYPE, Refusal, Reply, Stream


async def transcriptions(shelf: Shelf, request: Request) -> Reply | Stream:
    form = fields_of(request)
    if not form.get("model"):
        raise Refusal(400, "model is required")
    if "file" not in form:
        raise Refusal(400, "file is required: http: no such file")
    if not form["file"]:
        raise Refusal(400, "audio file is empty")
    heard = {name: text(form, name) for name in ("language", "prompt")} | {"audio_bytes": len(form["file"])}
    prompt = Prompt(model=text(form, "model"), heard=heard, is_streamed=False)
    return await answer(shelf, prompt, Transcription(text(form, "response_format")))


def fields_of(request: Request) -> dict[str, bytes]:
    """Return the form's fields by name. Raises Refusal if the body is no form."""
    content_type = request.header("content-type")
    if not content_type.startswith("multipart/form-data"):
        message = "request Content-Type isn't multipart/form-data"
        raise Refusal(400, f"failed to parse multipart form: {message}")
    head = f"content-type: {content_type}\r\n\r\n".encode("latin-1")
    form = BytesParser(policy=email.policy.HTTP).parsebytes(head + request.body)
    return {name_of(part): cast(bytes, part.get_payload(decode=True)) for part in form.iter_parts()}


def name_of(part: MIMEPart) -> str:
    return str(part.get_param("name", header="content-disposition"))


def text(form: dict[str, bytes], name: str) -> str:
    return form.get(name, b"").decode(errors="replace")


class Transcription(Shape):
    """The model's words as JSON or plain text; never streamed."""

    stream_type = NDJSON_TYPE

    def __init__(self, response_format: str) -> None:
        self._is_text = response_format == "text"

    def whole(self, chunk: Chunk) -> Reply:
        if not chunk.end["done"]:
            return Reply(content_type=NDJSON_TYPE)  # the text is sent with the last chunk, which is missing
        if self._is_text:
            return Reply(chunk.content.strip().encode(), content_type="text/plain")
        return openai.reply_translated({"text": chunk.content.strip()})

    def part(self, chunk: Chunk) -> bytes:
        return b""

    def failure(self, message: str) -> bytes:
        return b""
