"""Files that are complete or not there, whatever interrupts the writer."""

import errno
import os
import re
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from secrets import token_hex
from stat import S_IMODE, S_ISREG
from time import time
from typing import IO, Any

# Names of descriptors that are already open, of any kind of file.
_DESCRIPTOR = re.compile(r"/dev/(stdout|stderr|fd/\d+)|/proc/(self|\d+)/fd/\d+")

# Names of files in writing, which a process leaves behind if it is killed, and the seconds without
# a change after which they are taken for left behind.
_UNFINISHED, _SECONDS = re.compile(r"\.skcalrank-[0-9a-f]{16}\.part"), 24 * 60 * 60

# What a disk says that is full or broken, without a name.
_OF_DISKS = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO, errno.EROFS}


@contextmanager
def complete_file(path: str | Path, mode: str, **options: Any) -> Iterator[IO[Any]]:
    """Open a file for writing that replaces the file at `path` when it is complete.

    The new file keeps the mode of the replaced one. After an error, the file at `path` is
    unchanged, and errors of the disk name it. Concurrent writers of one path do not mix; the last
    one wins. What processes that were killed left in the folder a day ago is removed. Devices,
    pipes and open descriptors are written to directly.
    """
    status = _status(path)
    if status is not None and (not S_ISREG(status.st_mode) or _DESCRIPTOR.fullmatch(str(path))):
        # Append, since an open descriptor may belong to a file with earlier output.
        with open(path, mode.replace("w", "a"), **options) as file:
            yield file
        return
    # The target of a link is replaced. The name of the new file is short and random.
    final = Path(os.path.realpath(path))
    unfinished = final.with_name(f".skcalrank-{token_hex(8)}.part")
    _remove_left_behind(final.parent)
    try:
        with open(unfinished, mode.replace("w", "x"), **options) as file:
            if status is not None:
                os.chmod(unfinished, S_IMODE(status.st_mode))
            yield file
            file.flush()
            os.fsync(file.fileno())
        os.replace(unfinished, final)
    except OSError as error:
        of_disk = error.errno in _OF_DISKS and error.filename is None
        if of_disk or str(error.filename) == str(unfinished):
            raise type(error)(error.errno, error.strerror, str(path)) from error
        raise
    finally:
        with suppress(OSError):
            unfinished.unlink()


def _remove_left_behind(folder: Path) -> None:
    """Remove files in writing that nobody has written to for long, as far as that is allowed."""
    for file in folder.iterdir() if os.access(folder, os.R_OK | os.W_OK) else ():
        with suppress(OSError):
            if _UNFINISHED.fullmatch(file.name) and time() - file.lstat().st_mtime > _SECONDS:
                file.unlink()


def _status(path: str | Path) -> os.stat_result | None:
    """Return the status of an existing file, or None; raise if it is write-protected."""
    try:
        status = os.stat(path)
    except FileNotFoundError:
        return None
    if S_ISREG(status.st_mode):
        open(path, "r+b").close()  # raises for a write-protected file
    return status
