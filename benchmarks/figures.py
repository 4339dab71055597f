"""The figures of a benchmark, and their display."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from statistics import median, quantiles
from typing import Any

Rows = dict[str, dict[str, float]]  # by row and column; a column's name ends in its unit


@dataclass(frozen=True, slots=True)
class Figures:
    """``aims`` stand beside the rows they are about. They are aims: nothing fails for missing one. ``records``: what
    the JSON has beside the table."""

    name: str
    title: str
    rows: Rows
    aims: dict[str, str] = field(default_factory=dict)
    records: list[dict[str, Any]] = field(default_factory=list)

    def as_json(self) -> dict[str, Any]:
        rows = {name: {column: short(value) for column, value in row.items()} for name, row in self.rows.items()}
        return {"title": self.title, "rows": rows, "aims": self.aims, "records": self.records}

    def as_table(self) -> str:
        columns = list(dict.fromkeys(column for row in self.rows.values() for column in row))
        width_of_names = max(map(len, self.rows))
        lines = [
            f"{self.name}: {self.title}",
            "".join([" " * (width_of_names + 2), *(f"  {column:>9}" for column in columns)]),
        ]
        for name, row in self.rows.items():
            cells = [f"  {shown(row.get(column)):>{max(len(column), 9)}}" for column in columns]
            aim = f"   aim: {self.aims[name]}" if name in self.aims else ""
            lines.append("".join([f"  {name:{width_of_names}}", *cells, aim]).rstrip())
        return "\n".join(lines)


def summarise(times_ms: Sequence[float]) -> dict[str, float]:
    p99 = quantiles(times_ms, n=100, method="inclusive")[-1]
    return {"p50 ms": median(times_ms), "p99 ms": p99, "longest ms": max(times_ms)}


def short(value: float) -> float:
    """To four digits that count."""
    return float(f"{value:.4g}")


def shown(value: float | None) -> str:
    """Three digits that count, but whole numbers whole; empty for None."""
    if value is None:
        return ""
    if isinstance(value, int) or abs(value) >= 100:
        return f"{value:,.0f}"
    decimals = 1 if abs(value) >= 10 else 2 if abs(value) >= 1 else 3
    return f"{value:.{decimals}f}"
