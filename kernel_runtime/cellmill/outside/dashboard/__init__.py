"""`cellmill dashboard`: kernels and scripts that are watched from outside, in a browser, and as metrics."""
