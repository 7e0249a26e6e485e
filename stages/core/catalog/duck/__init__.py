"""What loading needs of DuckDB: statements, sampled rows, and an end to what runs too long."""
