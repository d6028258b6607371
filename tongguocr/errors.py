"""What goes wrong with a user's input, as one clear sentence that names the file."""

from importlib.util import find_spec


class InputError(Exception):
    """Bad input: the message is a whole sentence for the user and starts with the file's name."""


class DiskFullError(InputError):
    """There is no room left to write to: whatever else is to be written there would fail, too."""


class MissingExtraError(InputError):
    """A command needs a package that only an optional extra installs."""

    def __init__(self, what: str, extra: str) -> None:
        super().__init__(f"{what} needs an optional part: pip install 'tongguocr[{extra}]'.")


def need(what: str, extra: str, *packages: str) -> None:
    """Say now, not in the middle of the work, that packages of an optional extra are missing."""
    if any(find_spec(package) is None for package in packages):
        raise MissingExtraError(what, extra)
