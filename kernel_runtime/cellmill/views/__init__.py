"""What is told to the views of an executor, over which transport, and what they may ask for."""
