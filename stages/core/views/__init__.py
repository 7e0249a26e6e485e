"""A person's view of lines: what `winnow show` prints."""
