"""Arguments, results and errors as bytes, on their way between the kernel and its workers."""
