"""What a question asks: terms, values, entities and patterns."""
