"""Every bound of a server process is documented."""

import re
from pathlib import Path

from django.conf import settings

from festinger_site import asgi
from festinger_site.server import http_protocol
from memory import bounds

DEFINED_BY = (asgi, http_protocol)  # and by what they import


def test_operating_lists_every_bound() -> None:
    page = (Path(settings.PROJECT) / "docs" / "operating.md").read_text()
    table = page.partition("\n## Bounds\n")[2].partition("\n## ")[0]

    assert set(re.findall(r"^\| `(\w+)` \|", table, re.MULTILINE)) == set(bounds.count_bites())
