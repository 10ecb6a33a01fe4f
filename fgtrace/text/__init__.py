"""Tables and data as text."""
