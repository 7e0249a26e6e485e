"""Running a stage: what it is, the command around it, tasks in order or side by side."""
