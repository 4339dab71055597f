"""Settings of a Festinger whose worker leaves what it claimed to the next one after seconds."""

from datetime import timedelta

from festinger_site.settings import *  # noqa: F403

OBSERVATION_LEASE = timedelta(seconds=5)
