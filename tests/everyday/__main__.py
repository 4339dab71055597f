"""``python -m tests.everyday FILE ...`` plays rows, prints what was otherwise, and the share of each class."""

import json
import os
import sys
from collections import Counter
from pathlib import Path

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "festinger_site.settings")


def main(files: list[str]) -> None:
    import django

    django.setup()
    from tests.everyday.running import player

    rows = [json.loads(line) for file in files for line in Path(file).read_text().splitlines() if line.strip()]
    rows = [row for row in rows if "steps" in row]
    with player() as plays:
        played = plays.play(rows)
    right, all_of = Counter[str](), Counter[str]()
    for each in played:
        all_of[each.row["class"]] += 1
        right[each.row["class"]] += not each.failures
        for failure in each.failures:
            print(f"{each.row['id']}: {failure}")
    for name, count in sorted(all_of.items()):
        print(f"{name}: {right[name]} of {count}")
    print(f"all: {right.total()} of {all_of.total()}")


if __name__ == "__main__":
    main(sys.argv[1:])
