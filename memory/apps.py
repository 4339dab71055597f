from django.apps import AppConfig
from django.conf import settings

from memory.cache.state import Cache
from memory.cache.sync import Coherence


class MemoryConfig(AppConfig):
    name = "memory"
    verbose_name = "Memory"

    def ready(self) -> None:
        """Create the process's cache, empty, and its loader. Only a server runs the loader, before its first request; a
        query here would fail under a running event loop, and commands and workers need no cache."""
        self.cache = Cache()
        self.coherence = Coherence(self.cache, settings.DATABASE_URL)
