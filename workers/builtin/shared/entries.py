"""Reading an inventory entry: what signoff.toml says under a name, or a sentence on what is wrong there."""

import os
from typing import Any, TypeVar

from pydantic import BaseModel, ConfigDict, ValidationError

from workers.base import Permanent

M = TypeVar("M", bound=BaseModel)


class Setting(BaseModel):
    """Variables that a command gets; secrets by the name that they have in the environment of the workers."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    env: dict[str, str] = {}
    secrets_env: dict[str, str] = {}


def read_entry(model: type[M], table: str, name: str, raw: dict[str, Any]) -> M:
    try:
        return model.model_validate(raw)
    except ValidationError as error:
        faults = [f"{'.'.join(map(str, fault['loc']))}: {fault['msg']}" for fault in error.errors()]
    text = "; ".join(fault.removeprefix(": ") for fault in faults)
    raise Permanent(f"[inventory.{table}.{name}] in signoff.toml cannot be used: {text}. Nothing was run.")


def secrets(variables: dict[str, str], place: str) -> dict[str, str]:
    """The values of `secrets_env`, by the name that the command knows them by."""
    if missing := sorted({held for held in variables.values() if not os.environ.get(held)}):
        names = ", ".join(missing)
        raise Permanent(f"[inventory.{place}] needs {names} where the workers run. Nothing was run.")
    return {variable: os.environ[held] for variable, held in variables.items()}
