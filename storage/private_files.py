"""Files that only we may read: 0600 in directories of 0700, also where they were made wider before."""

import logging
import os
import stat
from contextlib import suppress
from pathlib import Path

OTHERS = 0o077
logger = logging.getLogger(__name__)


def private_directory(path: Path) -> Path:
    """Ours alone from now on; whatever has to be made above it is ours alone, too."""
    make_directories(path)
    narrow(path)
    return path


def make_directories(path: Path) -> None:
    """What is missing of it, each with 0700. What was there stays as it is: it may be anybody's."""
    if not path.exists():
        make_directories(path.parent)
        path.mkdir(mode=0o700, exist_ok=True)


def private_opener(path: str, flags: int) -> int:
    """For `open`: a new file is made with 0600, and an old one narrowed before anything is written to it."""
    handle = os.open(path, flags, 0o600)
    with suppress(PermissionError):  # somebody else's; `narrow` says so where it matters
        os.fchmod(handle, os.fstat(handle).st_mode & ~OTHERS & 0o7777)
    return handle


def narrow(path: Path) -> None:
    """Take from others what they may do with it; where that is not ours to do, say so."""
    try:
        facts = path.lstat()
        if facts.st_mode & OTHERS and not stat.S_ISLNK(facts.st_mode):
            path.chmod(stat.S_IMODE(facts.st_mode) & ~OTHERS)
    except FileNotFoundError:
        return
    except OSError as error:
        logger.warning("others may reach %s, and it is not ours to change: %s", path, error)


def narrow_tree(root: Path) -> None:
    """A directory of ours and all that is in it; one that others cannot enter is left as it is."""
    if root.is_dir() and root.stat().st_mode & OTHERS:
        for folder, folders, files in os.walk(root):
            for name in (*folders, *files):
                narrow(Path(folder, name))
    private_directory(root)


def open_plain(path: Path, root: Path) -> int:
    """A handle to read a file below this root that is nothing but itself: no link leads to it or away.

    Every folder on the way is entered as what it is, so that nothing can be put in its place meanwhile.
    """
    parts = path.relative_to(root).parts
    if not parts or ".." in parts:
        raise OSError(f"{path} is not below {root}")
    handle = os.open(root, os.O_RDONLY | os.O_DIRECTORY)
    for part in parts[:-1]:
        handle = _step(handle, part, os.O_DIRECTORY)
    handle = _step(handle, parts[-1], os.O_NONBLOCK)
    facts = os.fstat(handle)
    if stat.S_ISREG(facts.st_mode) and facts.st_nlink == 1:
        return handle
    os.close(handle)
    raise OSError(f"{path} is no plain file, or has a second name")


def _step(folder: int, name: str, flags: int) -> int:
    try:
        return os.open(name, os.O_RDONLY | os.O_NOFOLLOW | flags, dir_fd=folder)
    finally:
        os.close(folder)
