"""A catalog indexed: terms to tables and columns, keys, kinds of column, copies."""
