"""Large values, which stay outside the packs."""
