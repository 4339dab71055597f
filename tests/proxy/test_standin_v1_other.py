"""The stand-in's /v1 besides prompts, over bare HTTP: embeddings, models, transcriptions."""

import base64
import json
import struct

import httpx
import pytest

SKY = "The sky is blue because of Rayleigh scattering: short waves of light are scattered most."


class TestEmbeddings:
    def test_base64_holds_the_same_numbers(self, http):
        asked = {"model": "embedder", "input": ["a", "b"], "dimensions": 4}
        floats = http.post("/v1/embeddings", json=asked).json()
        packed = http.post("/v1/embeddings", json={**asked, "encoding_format": "base64"}).json()

        assert [len(one["embedding"]) for one in floats["data"]] == [4, 4]
        unpacked = [struct.unpack("<4f", base64.b64decode(one["embedding"])) for one in packed["data"]]
        assert list(unpacked[1]) == pytest.approx(floats["data"][1]["embedding"])
        assert floats["usage"] == {"prompt_tokens": 2, "total_tokens": 2}

    @pytest.mark.parametrize("more", [{}, {"input": []}, {"input": [1]}, {"input": "a", "encoding_format": "x"}])
    def test_what_cannot_be_translated_is_a_400(self, http, more):
        assert http.post("/v1/embeddings", json={"model": "embedder", **more}).status_code == 400


class TestModels:
    def test_the_list_and_the_single_model(self, http):
        listed = http.get("/v1/models").json()["data"]

        assert {"id": "llama3:latest", "object": "model", "created": 1767268800, "owned_by": "library"} in listed
        assert http.get("/v1/models/llama3:latest").json() in listed
        assert http.get("/v1/models/nobody").json()["error"]["type"] == "not_found_error"
        assert http.get("/v1/models/a/b").status_code == 404


class TestTranscriptions:
    def transcribe(
        self, http: httpx.Client, audio: bytes | None = b"RIFF\r\n\x00\xff", **fields: str
    ) -> httpx.Response:
        files = {} if audio is None else {"file": ("a.wav", audio)}
        return http.post("/v1/audio/transcriptions", data={"model": "llama3", **fields}, files=files or {"x": b""})

    def test_json_or_text(self, http):
        assert self.transcribe(http).json() == {"text": SKY}
        assert self.transcribe(http, response_format="text").text == SKY

    def test_the_file_is_read_to_the_byte(self, http):
        heard = self.transcribe(http, model="echo", language="de").json()["text"]

        assert json.loads(heard) == {"language": "de", "prompt": "", "audio_bytes": 8}

    @pytest.mark.parametrize(
        ("fields", "message"),
        [
            ({"model": ""}, "model is required"),
            ({"audio": None}, "file is required"),
            ({"audio": b""}, "audio file is"),
        ],
    )
    def test_a_form_that_lacks_something_is_a_400(self, http, fields, message):
        response = self.transcribe(http, **fields)

        assert response.status_code == 400
        assert response.json()["error"]["message"].startswith(message)

    def test_what_is_no_form_is_a_400(self, http):
        assert http.post("/v1/audio/transcriptions", json={}).status_code == 400
