"""Analyses: functions from typed frames to frames with a declared schema."""
