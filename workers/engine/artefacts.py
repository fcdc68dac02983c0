"""What of an attempt's folder becomes an artefact: plain files of its own, without the workers' secrets."""

import logging
import os
import tempfile
from pathlib import Path
from typing import BinaryIO

from storage.contract.report import AnyReport
from storage.private_files import open_plain
from workers.commands.output import mask_of

CHUNK = 256 * 1024
logger = logging.getLogger(__name__)


def only_fit(report: AnyReport, folder: Path) -> AnyReport:
    """The report with those of its files that people may be shown: the bot knows no secret of ours."""
    if not report.artifacts:
        return report
    fit = tuple(name for name in report.artifacts if _made_fit(Path(name).absolute(), folder.absolute()))
    return report.model_copy(update={"artifacts": fit})


def _made_fit(path: Path, folder: Path) -> bool:
    """Whether it is a file of this folder alone; then it is replaced by a copy that is fit to show."""
    try:
        with open(open_plain(path, folder), "rb") as found:
            _replace(path, found)
    except (OSError, ValueError) as error:
        logger.warning("%s is not kept as an artefact: %s", path, error)
        return False
    return True


def _replace(path: Path, found: BinaryIO) -> None:
    mask = mask_of(())
    handle, draft = tempfile.mkstemp(dir=path.parent)  # 0600
    try:
        with open(handle, "wb") as out:
            while chunk := found.read(CHUNK):
                out.write(mask.feed(chunk))
            out.write(mask.rest())
        os.replace(draft, path)
    except OSError:
        os.unlink(draft)
        raise
