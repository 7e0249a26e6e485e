"""Schemas without data: DDL text of any dialect, schema files, and the types they declare."""
