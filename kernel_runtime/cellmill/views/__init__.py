"""Publishes an executor's state to views, over any transport, and answers their commands."""
