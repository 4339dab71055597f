"""Finds program output pasted without a fence: logs, tracebacks, compiler messages."""

import re
from typing import Final

# For each kind of output, the lines that identify it; the other lines of their paragraph follow them.
PRINTED: Final = re.compile(
    r"[ \t>|*]*(?:"
    # Times: `[12:04:11.331]`, `2026-03-02T12:31:07Z`, `Mar 09 03:12:44`, `07:12:33`.
    r"\[?\d{4}-\d\d-\d\d[T ]\d\d:\d\d|\[\d\d?:\d\d|\d\d?:\d\d:\d\d|[A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d"
    # Levels, only in capitals: `Warning: ...` is how people write.
    r"|\[?(?:TRACE|DEBUG|INFO|WARN|WARNING|ERROR|FATAL|CRITICAL|SEVERE|PANIC)\]?(?=[:\s(\[]|$)"
    r"|(?:error|warning|fatal|panic)(?:\[\w{1,12}\])?:\s|[\w./-]{1,80}: (?:error|warning|fatal|fatal error|note): "
    r"|(?:Error|Warning): [A-Z][\w ]{1,60}: "
    # Tags of programs: `[prober] FAIL`; people write `[edit]`.
    r"|\[(?!(?:added|edit|edited|fyi|info|note|optional|ps|todo|update)\])[a-z][\w.-]{2,40}\] "
    # Exceptions and stacks.
    r"|Traceback \(|During handling of the above|Caused by: |File \"[^\"\n]{1,200}\", line \d|at [\w$.<>]{1,120} ?\("
    r"|(?:\w{1,60}\.){0,8}[A-Z]\w{0,60}(?:Error|Exception|Warning|Violation|Failure|Interrupt)\b(?:: |\(|$)"
    r"|(?:[a-z_]\w{0,60}\.){1,8}[A-Z]\w{0,60}: |E {2,}\S|Exception: "
    # Places in files: `anchor.cpp:71:9:`, ` --> src/emit.rs:57`, `  4:3  error`.
    r"|[\w./-]{1,120}:\d+:\d+:?\s|--> \S|\d+:\d+ +(?:error|warning) "
    # Prompts, results of tests.
    r"|[\w.-]{1,60}@[\w.-]{1,60}[: ]\S{0,120}[#$%] |\$ \S|>>> |\*\*\* |(?:PASS|FAIL|FAILED|SKIP)(?:ED)?:?\s)"
)
_BACK_MAX: Final = 4_000  # characters that are searched backwards: output that begins earlier does not count


class OutputFinder:
    """Answers for the lines of one text, in ascending order, whether they are output. Linear."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._at = 0  # everything before was examined
        self._is_output = False

    def is_output(self, start: int, end: int) -> bool:
        """True if the line was printed by a program, or follows such a line in its paragraph."""
        if start - self._at > _BACK_MAX:
            self._at, self._is_output = self._text.rfind("\n", 0, start - _BACK_MAX) + 1, False
        if end > self._at:
            for line in self._text[self._at : end].split("\n"):
                self._is_output = bool(line.strip()) and (self._is_output or PRINTED.match(line) is not None)
            self._at = end + 1
        return self._is_output
