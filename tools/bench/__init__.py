"""Measures of speed and of quality."""
