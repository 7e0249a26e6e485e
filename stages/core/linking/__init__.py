"""What the linking stages share: phrases, groups, batches, names, join paths."""
