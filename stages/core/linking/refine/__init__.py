"""Refining: one connected schema in two rounds."""
