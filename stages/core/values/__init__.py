"""Where values stand in the data: an index on disk for each source, and what is looked up in it."""
