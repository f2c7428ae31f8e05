"""`cellmill top`: kernels and scripts that are watched from outside, live in a terminal."""
