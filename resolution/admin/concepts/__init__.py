"""Concepts in the admin: their pages, their flags, their names."""

from resolution.admin.concepts import concepts

__all__ = ["concepts"]
