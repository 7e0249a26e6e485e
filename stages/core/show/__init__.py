"""A file of lines as a person reads it."""
