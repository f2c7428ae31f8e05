"""The scheduler over threads of the kernel process, for code that releases the GIL."""
