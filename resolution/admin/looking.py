"""What an account may look at, of what pages about facts show beside them."""

from django.http import HttpRequest

from resolution.views.concept_detail import Sees


def sees(request: HttpRequest) -> Sees:
    may = request.user.has_perm
    return Sees(
        facts=may("memory.view_edge"),
        conflicts=may("resolution.view_conflict"),
        history=may("memory.view_edgehistory"),
        evidence=may("memory.view_evidence"),
    )
