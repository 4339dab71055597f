"""Constraints that many tables have."""

from collections.abc import Callable
from typing import TypeVar

from django.db import models
from django.db.models import Q

Row = TypeVar("Row", bound=models.Model)


def one_of(*fields: str, **names: str) -> Callable[[type[Row]], type[Row]]:
    """Decorate a model whose fields take nothing but their choices: each gets the constraint TABLE_FIELD_is_known, or
    one of another name, given as ``field=name``."""

    # A list in ``Meta``, where the names of the class around it are not in scope, would repeat the choices.
    def add_constraints(model: type[Row]) -> type[Row]:
        meta = model._meta
        choices = {
            field.name: [value for value, _ in field.flatchoices] for field in meta.local_fields if field.flatchoices
        }
        named = {field: f"{meta.db_table}_{field}_is_known" for field in fields} | names
        is_known = [
            models.CheckConstraint(condition=Q(**{f"{field}__in": choices[field]}), name=name)
            for field, name in named.items()
        ]
        meta.constraints = meta.original_attrs["constraints"] = [*meta.constraints, *is_known]
        return model

    return add_constraints
