"""Lines of JSON: their schemas, reading and writing, sections, and what they say of tables."""
