"""The tables of what is known and heard. Every rule is a named constraint of the database; a trigger refuses cycles.

memory/graph/store.py writes the graph, memory/learning what was heard; operators edit ``config`` and the flags of
``soas`` in the admin."""

from memory.models.forgetting import ForgetRequest
from memory.models.graph import (
    Alias,
    Dimension,
    Edge,
    EdgeHistory,
    NormalForm,
    Soas,
    Source,
    Support,
    find_by_part,
    find_called_like,
)
from memory.models.messages import Evidence, HeardMessage, NamedConversation, PromptOpening, SeenMessage
from memory.models.notifications import NotificationDelivery, NotificationEvent, NotificationTarget
from memory.models.observations import Observation
from memory.models.operating import (
    Agent,
    Config,
    Heartbeat,
    InstalledVersion,
    LanguageModel,
    LlmCall,
    MutePattern,
    Project,
    Teacher,
    UpstreamModel,
)
from memory.models.searching import (
    Embedder,
    EnglishLexeme,
    PendingEmbedding,
    TextKind,
)
from memory.models.semantic import (
    Episode,
    ExtractionMark,
    ForgottenEpisode,
    GivenNote,
    Memory,
    MemoryHistory,
    MemoryLineage,
)
from memory.models.state import ProjectState

__all__ = [
    "Agent", "Alias", "Config", "Dimension", "Edge", "EdgeHistory", "Embedder", "EnglishLexeme",
    "Episode", "Evidence", "ExtractionMark", "ForgetRequest", "ForgottenEpisode", "GivenNote", "HeardMessage",
    "Heartbeat", "InstalledVersion", "LanguageModel", "LlmCall", "Memory", "MemoryHistory", "MemoryLineage",
    "MutePattern", "NamedConversation", "NormalForm", "NotificationDelivery", "NotificationEvent",
    "NotificationTarget", "Observation", "PendingEmbedding", "Project", "ProjectState", "PromptOpening",
    "SeenMessage", "Soas", "Source", "Support", "Teacher", "TextKind", "UpstreamModel",
    "find_by_part",
    "find_called_like",
]  # fmt: skip
