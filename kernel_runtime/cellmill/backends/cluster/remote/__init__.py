"""At the other end: what runs in the workers of a cluster."""
