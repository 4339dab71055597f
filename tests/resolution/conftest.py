"""What tests of the resolution share."""

from tests.llm_server import llm
from tests.memory.conftest import dsn

__all__ = ["dsn", "llm"]
