"""The output and log records of tasks in the kernel: whole lines, in the cell that made the calls."""
