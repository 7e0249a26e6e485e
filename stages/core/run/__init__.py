"""One run over many tasks: its configuration, its artifacts, and who works on what."""
