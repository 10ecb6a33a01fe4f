"""The terminal UI: a recording browsed from the finding down to the event."""
