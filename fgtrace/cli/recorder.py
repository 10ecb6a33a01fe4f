"""`fgtrace recorder`: the recorder as one file, for machines where nothing can be installed."""

from __future__ import annotations

from pathlib import Path

import click

from fgtrace.cli.output import emit
from fgtrace.cli.recording_errors import told_as_fgtrace_errors


@click.command()
@click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path),
    default=Path("fgtrace-recorder.pyz"),
    show_default=True,
    metavar="FILE.pyz",
    help="the file to write",
)
@click.option("--force", is_flag=True, help="replace a file that exists")
def recorder(output: Path, force: bool) -> None:
    """Write the recorder and the cases as one file that runs under any Python from 3.9 on.

    It runs the protocol of `collect` under the torch that is there and writes a recording, of
    which `fgtrace collect --from RECORDING` makes a run here.
    """
    from fgtrace_collectors.bundle import bundle
    from fgtrace_collectors.recorder.place import placed
    from fgtrace_collectors.registry import installed_registry

    with told_as_fgtrace_errors(), placed(output, folder=False, force=force) as place:
        place.new.write_bytes(bundle(installed_registry()))
        place.new.chmod(0o755)
    emit(
        f"wrote {output}\n"
        f"there:  python3 {output.name} --case all --formal -o recording.zip\n"
        "here:   fgtrace collect --from recording.zip\n"
    )
