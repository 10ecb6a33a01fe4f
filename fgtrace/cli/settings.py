"""The user's settings: `config.toml` in the folder where the platform keeps them."""

from __future__ import annotations

import tomllib
from pathlib import Path

import msgspec
import platformdirs

from fgtrace.errors import ExitCode, FgtraceError


class Settings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What can be set for the terminal UI."""

    theme: str | None = None
    """One of Textual's themes, as `textual-light` or `ansi-dark`."""
    keymap: dict[str, str] = {}
    """Other keys, by the names that `?` shows: `"table.down" = "ctrl+n"`."""


def settings_path() -> Path:
    """Give the path of the file, whether or not it is there."""
    return platformdirs.user_config_path("fgtrace") / "config.toml"


def read_settings() -> Settings:
    """Read the file; without one, nothing is set.

    Raises FgtraceError (usage) for a file that cannot be read or says what is not known.
    """
    path = settings_path()
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        return Settings()
    except (OSError, UnicodeDecodeError) as error:
        raise _unusable(path, str(error)) from None
    try:
        return msgspec.convert(tomllib.loads(text), Settings)
    except (tomllib.TOMLDecodeError, msgspec.ValidationError) as error:
        raise _unusable(path, str(error)) from None


def _unusable(path: Path, what: str) -> FgtraceError:
    return FgtraceError(
        f"{path}: {what}",
        hint="it has theme = NAME and a table [keymap]; docs/view.md has an example",
        kind="usage",
        exit_code=ExitCode.USAGE,
    )
