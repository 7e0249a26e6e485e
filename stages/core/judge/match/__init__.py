"""A question met with a catalog."""
