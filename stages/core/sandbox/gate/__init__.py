"""The first layer: a statement is read, mended, judged and written anew before anything runs it."""
