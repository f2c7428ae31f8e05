"""What Cellmill draws inside a notebook or a terminal."""
