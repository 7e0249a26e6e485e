"""What sections kept, against gold."""
