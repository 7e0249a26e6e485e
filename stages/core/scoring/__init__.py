"""Measuring: what a section kept against what the gold says was needed."""
