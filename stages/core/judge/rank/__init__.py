"""Features, models and the cut: from a match to what is kept."""
