"""The context description: what a solver is told of the tables and documents of a task.

`view` says what is shown of what, `budget` makes it fit, and one module for each format
writes it down.
"""
