"""Exploring: each candidate table in its data."""
