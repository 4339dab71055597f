"""What a benchmark brings home, and how it is shown."""

from dataclasses import dataclass, field
from typing import Any

Rows = dict[str, dict[str, float]]  # by row and column; a column's name ends in its unit


@dataclass(frozen=True, slots=True)
class Figures:
    """``aims`` stand beside the rows they are about. They are aims: nothing fails for missing one."""

    title: str
    rows: Rows
    aims: dict[str, str] = field(default_factory=dict)

    def as_json(self) -> dict[str, Any]:
        rounded = {
            name: {column: rounded_to_4(value) for column, value in row.items()} for name, row in self.rows.items()
        }
        return {"title": self.title, "rows": rounded, "aims": self.aims}

    def as_table(self) -> str:
        columns = list(dict.fromkeys(column for row in self.rows.values() for column in row))
        lines = [["", *columns]]
        for name, row in self.rows.items():
            lines.append([name, *(shown(row.get(column)) for column in columns)])
        widths = [max(len(line[at]) for line in lines) for at in range(len(columns) + 1)]
        aims = ["", *(f"   aim: {self.aims[name]}" if name in self.aims else "" for name in self.rows)]
        table = [
            "  ".join([line[0].ljust(widths[0]), *(cell.rjust(width) for cell, width in zip(line[1:], widths[1:], strict=True))])
            for line in lines
        ]
        return "\n".join([self.title, *(f"  {line}{aim}".rstrip() for line, aim in zip(table, aims, strict=True))])


def rounded_to_4(value: float) -> float:
    return float(f"{value:.4g}")


def shown(value: float | None) -> str:
    """Three digits that count, without an exponent; nothing for None."""
    if value is None:
        return ""
    decimals = 0 if abs(value) >= 100 else 1 if abs(value) >= 10 else 2 if abs(value) >= 1 else 3
    return f"{value:,.{decimals}f}"
