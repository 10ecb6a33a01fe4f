"""Readers: from a profiler's file to the typed frames, one module a format."""
