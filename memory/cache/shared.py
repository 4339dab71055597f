"""Equal values as one object: of a million rows most have one of a few."""

from typing import TypeVar

Value = TypeVar("Value")


class Shared(dict[Value, Value]):
    """One object for each value, however many rows have it."""

    def __missing__(self, value: Value) -> Value:
        self[value] = value
        return value
