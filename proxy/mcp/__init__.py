"""Festinger as a server of the Model Context Protocol: what agents search, remember and teach by their host's tools."""
