"""Finds how a name was typed: ``peek_polymer`` as ``PEEK polymer``, ``4.8_kg`` as ``4.8 kg``."""

import re
import unicodedata


def find_spelling(text: str, name: str) -> str:
    """Return the name as the text last spells it, its words one space apart; "" if it does not occur."""
    words = r"[\s_]+".join(map(re.escape, name.split("_")))
    found = re.findall(rf"(?<!\w){words}(?!\w)", unicodedata.normalize("NFKC", text), re.IGNORECASE)
    return " ".join(found[-1].split()) if found else ""
