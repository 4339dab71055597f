"""Finds the names of which nothing is known."""

from django.db.models import Exists, OuterRef, QuerySet, Subquery

from memory.models import Edge, Evidence, MutePattern, Soas


def find_unexplained(least_saliency: float, *, with_sentences: bool = True) -> QuerySet[Soas]:
    """Return the names that users speak of and of which nothing is known, the most salient first; ``with_sentences``:
    each with the newest sentence that names it, as ``sentence``."""
    # Being the parent of something, or a dimension, explains a name.
    newest = Evidence.objects.filter(concept=OuterRef("pk")).order_by("-said_at", "-pk")
    unexplained = Soas.objects.filter(
        ~Exists(Edge.objects.filter(concept=OuterRef("pk"))),
        ~Exists(Edge.objects.filter(parent=OuterRef("pk"))),
        alias=None,
        is_common=False,
        is_muted=False,
        novelty=0,
        saliency__gte=least_saliency,
        conversation_count__gt=0,
    )
    unexplained = MutePattern.leave_out(unexplained)
    if with_sentences:
        unexplained = unexplained.annotate(sentence=Subquery(newest.values("sentence")[:1]))
    return unexplained.order_by("-saliency", "-pk")  # in the order of an index
