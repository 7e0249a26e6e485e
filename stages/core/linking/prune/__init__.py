"""Pruning: what a question plainly does not need."""
