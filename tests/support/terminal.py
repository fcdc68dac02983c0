"""A command as a person types it."""

import os
import subprocess
import sys
from contextlib import chdir, redirect_stderr, redirect_stdout
from io import StringIO
from pathlib import Path
from unittest.mock import patch

from bot.__main__ import main
from tests.support.world import environment


def typed(home: Path, *words: str, **more: str) -> subprocess.CompletedProcess[str]:
    """A command that only looks, without a process of its own: that would cost a second each."""
    said, wrong, argv = StringIO(), StringIO(), ["signoff", *words]
    with (
        patch.dict(os.environ, environment(home, **more), clear=True), patch.object(sys, "argv", argv),
        chdir(home), redirect_stdout(said), redirect_stderr(wrong),
    ):  # fmt: skip
        return subprocess.CompletedProcess(argv, main(), said.getvalue(), wrong.getvalue())
