"""What tasks printed and logged, in the kernel: whole lines, in the cell that made the calls."""
