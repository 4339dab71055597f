"""Asks a language model what a concept is, with the sentences that name it."""

import logging

from django.db.models import Count, F, Q

from memory.llm import Answer, ask
from memory.models import Dimension, Edge, Evidence, LanguageModel, LlmCall, Soas
from memory.questions.concept_prompt import SCHEMA, SYSTEM, Explained, QuotedSentence, prompt_for, read_explanation
from memory.types import SEED_DIMENSIONS

logger = logging.getLogger(__name__)

EVIDENCE_MAX = 5  # sentences, the newest
PEOPLE = ("user", "system")
OTHERS_MAX = 2  # of the sentences, from tools
REFUSED_MAX = 1_000  # characters of what a model said that are logged
OTHER_DIMENSIONS_MAX = 40  # the most used besides the seeds


def explain(concept: Soas, model: LanguageModel) -> tuple[list[Explained], Answer]:
    """Return the facts that the model knows of the concept, valid and at most one a dimension; none if it is unknown.
    Blocks like memory.llm.ask, and raises LlmError."""
    dimensions = list_dimensions()
    prompt = prompt_for(concept.token, evidence_of(concept), dimensions)
    answer = ask(model, LlmCall.Purpose.EXPLAIN, concept.token, system=SYSTEM, prompt=prompt, schema=SCHEMA)
    explained, refused = read_explanation(answer.data, concept.token, dimensions)
    if refused:
        logger.info("explaining.rejected", extra={"concept": concept.token, "count": len(refused)})
        logger.debug("explaining.why", extra={"concept": concept.token, "refused": str(refused)[:REFUSED_MAX]})
    return explained, answer


def evidence_of(concept: Soas) -> list[QuotedSentence]:
    """Return the newest sentences first; secrets were masked when they were stored."""
    # One tool's output can have five sentences: it must not displace what people said.
    newest = Evidence.objects.filter(concept=concept).order_by("-said_at", "-id")
    people = list(newest.filter(role__in=PEOPLE)[:EVIDENCE_MAX])
    others = list(newest.exclude(role__in=PEOPLE)[: min(OTHERS_MAX, EVIDENCE_MAX - len(people))])
    rows = sorted([*people, *others], key=lambda row: row.said_at, reverse=True)
    return [QuotedSentence(row.role, row.sentence) for row in rows]


def list_dimensions() -> dict[str, str]:
    """Return names and questions: the seeds, then the others with the most facts."""
    # The seeds even if they are empty: without them, the first answers would invent dimensions.
    seeds = {name: question for name, question, _ in SEED_DIMENSIONS}
    used = (
        Edge.objects.exclude(Q(concept=F("dim")) | Q(dim__token__in=seeds))
        .values_list("dim__token")
        .annotate(facts=Count("edge_id"))
        .order_by("-facts", "dim__token")[:OTHER_DIMENSIONS_MAX]
    )
    names = [*seeds, *(name for name, _ in used)]
    asked = dict(Dimension.objects.filter(soas__token__in=names).values_list("soas__token", "question"))
    return {name: asked.get(name) or seeds.get(name, "") for name in names}
