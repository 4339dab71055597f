"""Interns repeated values to save memory."""

from typing import TypeVar

Value = TypeVar("Value")


class Shared(dict[Value, Value]):
    """A dict that returns one object for equal values, however many rows have them."""

    def __missing__(self, value: Value) -> Value:
        self[value] = value
        return value
