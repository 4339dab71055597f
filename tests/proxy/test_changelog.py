"""What a changelog asks of operators."""

from django.conf import settings

from festinger_site import VERSION
from proxy.admin.changelog import find_actions

CHANGELOG = """# Changelog

## 2.0.0 - 2027-01-01

### Changed

- **Action:** stop beat ([why](docs/x.md)), and run `manage.py
  prepare` once.
- Faster.
- **Action:** new ids.

### Fixed

- **Action:** look.

## 1.0.0 - 2026-01-01

- **Action:** nothing of this.
"""


def test_the_actions_of_one_version_are_found_as_plain_text() -> None:
    assert find_actions(CHANGELOG, "2.0.0") == ["stop beat (why), and run manage.py prepare once.", "new ids.", "look."]
    assert find_actions(CHANGELOG, "3.0.0") == []


def test_our_own_changelog_has_a_section_for_this_version() -> None:
    assert find_actions((settings.ROOT / "CHANGELOG.md").read_text(), VERSION)
