"""How a command ends that cannot go on: with a sentence on standard error, and never with a traceback."""

import logging
import sys
from collections.abc import Callable

from pydantic import ValidationError
from sqlalchemy.exc import SQLAlchemyError

from storage.errors import SignoffError

logger = logging.getLogger(__name__)
INTERRUPTED = 130  # as a shell counts it


def answered(run: Callable[[], int]) -> int:
    """What the command returns; 1 and the reason when it could not be done."""
    try:
        return run()
    except BrokenPipeError:
        return 0
    except KeyboardInterrupt:
        return INTERRUPTED
    except (SignoffError, OSError, SQLAlchemyError, ValidationError) as error:
        logger.debug("the command ended", exc_info=True)
        print(reason(error), file=sys.stderr)
        return 1


def reason(error: Exception) -> str:
    """What is wrong, and where, in people's words."""
    if isinstance(error, OSError):
        where = f": {error.filename}" if error.filename else ""
        return f"{error.strerror or error}{where}."
    if isinstance(error, ValidationError):
        found = error.errors(include_input=False)
        wrong = [f"{variable(one['loc'])}: {one['msg']}" for one in found]
        return "These settings of the environment cannot be read:\n  " + "\n  ".join(wrong)
    if isinstance(error, SQLAlchemyError):
        told = str(getattr(error, "orig", None) or error).strip().splitlines()
        return f"The database cannot be used: {told[0] if told else 'it does not say why'}"
    return str(error)


def variable(place: tuple[int | str, ...]) -> str:
    """How a setting is called in the environment."""
    name = "_".join(map(str, place)).upper()
    return name if name.startswith(("SLACK_", "ANTHROPIC_", "SIGNOFF_")) else f"SIGNOFF_{name}"
