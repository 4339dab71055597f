"""Admin pages for concepts: what is known of them, their marks, their names."""

from resolution.admin.concepts import concepts

__all__ = ["concepts"]
