"""Run cases by the stopwatch and under a profiler, and make runs of what was recorded."""
