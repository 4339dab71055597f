"""Festinger as a server of the Model Context Protocol: agents search, remember and teach with their host's tools."""
