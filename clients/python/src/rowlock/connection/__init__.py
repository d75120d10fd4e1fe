"""Connections to servers: they carry commands and results, and know nothing of their meaning."""
