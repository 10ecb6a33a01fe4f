"""A screen a module."""
