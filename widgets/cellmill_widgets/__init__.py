"""Widgets of Cellmill for notebooks and terminals."""
