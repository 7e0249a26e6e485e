"""The second layer: a child process that can be killed, over tables that were loaded before."""
