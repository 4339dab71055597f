"""The words that agents use and of which nothing is known."""

from django.db.models import Exists, OuterRef, QuerySet, Subquery

from memory.models import Edge, Evidence, Soas


def find_unknown(least_saliency: float, *, with_sentences: bool = True) -> QuerySet[Soas]:
    """The most salient ones first, by an index; ``with_sentences`` each with the newest sentence that names it, as
    ``sentence``. What is the parent of something, or a dimension, is explained by that."""
    newest = Evidence.objects.filter(concept=OuterRef("pk")).order_by("-said_at", "-pk")
    unexplained = Soas.objects.filter(
        ~Exists(Edge.objects.filter(concept=OuterRef("pk"))),
        ~Exists(Edge.objects.filter(parent=OuterRef("pk"))),
        is_common=False,
        is_muted=False,
        novelty=0,
        saliency__gte=least_saliency,
    )
    if with_sentences:
        unexplained = unexplained.annotate(sentence=Subquery(newest.values("sentence")[:1]))
    return unexplained.order_by("-saliency", "-pk")
