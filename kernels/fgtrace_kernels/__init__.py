"""Bundled operators, and the cases and routes that exercise them."""
