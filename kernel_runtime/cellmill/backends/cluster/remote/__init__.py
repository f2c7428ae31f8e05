"""Code that runs in the workers of a cluster."""
