"""The recollection block as text. The same input always gives the same bytes: no times, no scores."""

from collections.abc import Sequence

OPENING = "<recollection>"
CLOSING = "</recollection>"
CONFLICT = " — conflict pending"


def fact_line(concept: str, facts: Sequence[tuple[str, str, bool]]) -> str:
    """One concept's line; ``facts`` are (dimension, parent, disputed) in the order they are shown."""
    shown = " ".join(f"[{dim}{'?' if disputed else ''}] {parent}" for dim, parent, disputed in facts)
    return f"{concept}: {shown}{CONFLICT if any(disputed for *_, disputed in facts) else ''}"


def question(concept: str) -> str:
    """Asks the agent to say what a salient, unknown concept is."""
    quote = '"' if "'" in concept else "'"  # the agent will run these lines
    return (
        f"? {concept}: no recollection. If this is a typo, ignore.\n"
        "If you know what it is, store it before proceeding:\n"
        f"  gutask iknowthat {quote}{concept} -isa <parent> in context of <dimension>{quote}\n"
        f"  gutask iknowthat {quote}{concept} -ispart <system> in context of <dimension>{quote}"
    )


def block(parts: Sequence[str]) -> str:
    """The block around its lines; empty where there are none."""
    return "\n".join([OPENING, *parts, CLOSING]) if parts else ""


def block_length(part_lengths: Sequence[int]) -> int:
    """How many characters ``block`` has for parts of these lengths, at least one of them."""
    return len(OPENING) + len(CLOSING) + 1 + sum(part_lengths) + len(part_lengths)
