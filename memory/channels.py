"""The channels through which something is said, and how much a statement of each may change."""

from enum import StrEnum
from typing import Final

from memory.voice import Voice


class Channel(StrEnum):
    """A channel, the strongest first."""

    OPERATOR = "operator"  # the admin, or a token of scope operator
    GUTASK = "gutask"  # stated on purpose: /iknowthat, gutask
    USER = "user"  # said by a person, meant for all
    UNSURE = "unsure"  # may be a person's own words, or handed over in a long message
    EXPLAINED = "explained"  # a language model's conclusion from evidence
    ASSISTANT = "assistant"  # the model's own words
    QUOTED = "quoted"  # the words of others: a tool's result, a page, a mail, a document


STRONGEST_FIRST: Final = tuple(Channel)
# The words of a page's author wait as a candidate, and so do a model's conclusions from them.
OTHERS: Final = frozenset({Channel.ASSISTANT, Channel.QUOTED})
TENTATIVE: Final = OTHERS | {Channel.UNSURE}
# How far a statement read in a message is believed, as a factor of what its words alone are worth.
READ_TRUST: Final = {Channel.USER: 1.0, Channel.UNSURE: 1.0, Channel.ASSISTANT: 0.7, Channel.QUOTED: 0.5}
# Confidence in what only this channel has vouched for; histories keep the joint confidence of all voices.
SURE: Final = {Channel.OPERATOR: 1.0, Channel.GUTASK: 1.0, Channel.USER: 0.8}
# A language model is overconfident of its conclusions.
EXPLAINED_TRUST: Final = 0.8

_OF_SOURCES: Final = {
    "operator": Channel.OPERATOR,
    "festinger": Channel.OPERATOR,  # what resolution made by itself, roots of dimensions say
    "gutask": Channel.GUTASK,
    "cloud_llm": Channel.EXPLAINED,
}
_OF_VOICES: Final = {
    Voice.UNSURE: Channel.UNSURE,
    Voice.FICTION: Channel.UNSURE,
    Voice.QUOTED: Channel.QUOTED,
    Voice.NOBODYS: Channel.QUOTED,
}
_OF_ROLES: Final = {
    "user": Channel.USER,
    "system": Channel.UNSURE,
    "developer": Channel.UNSURE,
    "assistant": Channel.ASSISTANT,
}


def channel_of_role(role: str) -> Channel:
    """Return the channel of what a message of this role says itself; a tool's for an unknown role. A system text is for
    its own agent."""
    return _OF_ROLES.get(role, Channel.QUOTED)


def channel_in(voice: Voice, role: str) -> Channel:
    """Return the channel of what a message of this role says in this voice."""
    channel = channel_of_role(role)
    spoken = _OF_VOICES.get(voice, channel)
    return spoken if is_weaker(spoken, channel) else channel


def channel_of(source: str, role: str = "") -> Channel:
    """Return the channel of a source; for ``inferred`` (read in a message), that of the message's role."""
    if source == "inferred":
        return channel_of_role(role) if role else Channel.USER
    return _OF_SOURCES[source]


def is_weaker(channel: Channel | str, than: Channel | str) -> bool:
    """True if a statement through ``channel`` must not push aside one through ``than``."""
    return STRONGEST_FIRST.index(Channel(channel)) > STRONGEST_FIRST.index(Channel(than))


def may_change(by: Channel | str, stated: Channel | str, *, is_sole: bool) -> bool:
    """True if a correction, refinement or retraction through ``by`` of what was said through ``stated`` takes effect at
    once. ``is_sole``: nobody but its speaker has said it."""
    if by == Channel.OPERATOR:
        return True
    # Through every channel, except for what an operator has vouched for.
    return is_weaker(stated, by) or (is_sole and stated != Channel.OPERATOR)
