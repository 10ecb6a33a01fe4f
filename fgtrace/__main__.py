"""`python -m fgtrace`."""

from fgtrace.cli.main import run

run()
