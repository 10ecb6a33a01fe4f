"""Run cases in turns, time them, profile them apart: standard library and the torch that is there.

It knows nothing of cases beyond a callable, its name and what the callable must return.
"""
