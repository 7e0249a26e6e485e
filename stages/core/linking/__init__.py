"""What the stages of schema linking share: phrases, groups, batches, names, join paths."""
