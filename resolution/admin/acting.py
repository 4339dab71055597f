"""Who acts, where an operator presses a button."""

from django.http import HttpRequest

from memory.models import Source
from resolution.actors import Actor


def actor_of(request: HttpRequest) -> Actor:
    return Actor(request.user.get_username(), Source.OPERATOR)
