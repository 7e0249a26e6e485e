"""Winnow: the few tables and columns that a question needs, as a chain of commands over JSON
lines."""

__version__ = "0.1.0"
