"""What the actions of db-backup are asked, and what they answer."""

from datetime import datetime
from typing import Annotated, Literal, Self

from pydantic import BaseModel, Field, model_validator

from workers.base import Named, Params
from workers.builtin.backup.directory import BackupData, Manifest
from workers.builtin.backup.dumps import Scope

Database = Annotated[str, Named("databases")]


class BackupParams(Scope):
    database: Database
    restore_test: bool = Field(
        False, description="also restore it into a scratch database and count the rows"
    )

    @model_validator(mode="after")
    def _tables_are_named(self) -> Self:
        if (self.backup_type == "tables") != bool(self.tables):
            raise ValueError("`tables` names the tables of a backup of type tables, and of no other")
        return self


class BackupReport(BackupData):
    previous_bytes: int | None = None
    free_bytes: int
    removed: tuple[str, ...] = ()

    @classmethod
    def of(cls, made: Manifest, last: Manifest | None, gone: list[Manifest], free: int) -> Self:
        return cls(
            **made.data.model_dump(),
            previous_bytes=last.data.bytes if last else None,
            free_bytes=free,
            removed=tuple(manifest.file.name for manifest in gone),
        )


class ListParams(Params):
    database: Database
    check: bool = Field(False, description="read every file and compare its checksum; else only its size")


class Listed(BaseModel):
    backup: str
    made_at: datetime
    backup_type: str
    bytes: int
    level: str
    sound: bool

    @classmethod
    def of(cls, manifest: Manifest, *, sound: bool) -> Self:
        return cls(
            backup=manifest.file.name,
            made_at=manifest.made_at,
            backup_type=manifest.backup_type,
            bytes=manifest.data.bytes,
            level=manifest.data.level,
            sound=sound,
        )


class ListData(BaseModel):
    backups: list[Listed]
    damaged: int
    bytes: int
    newest: str

    @classmethod
    def of(cls, listed: list[Listed]) -> Self:
        return cls(
            backups=listed,
            damaged=sum(not found.sound for found in listed),
            bytes=sum(found.bytes for found in listed),
            newest=next((found.backup for found in listed if found.sound), ""),
        )


class PruneParams(Params):
    database: Database
    keep_last: int | None = Field(None, ge=1, description="instead of the inventory's rule")


class PruneData(BaseModel):
    removed: list[str]
    bytes: int
    kept: int

    @classmethod
    def of(cls, gone: list[Manifest], kept: int) -> Self:
        names = [manifest.file.name for manifest in gone]
        return cls(removed=names, bytes=sum(manifest.data.bytes for manifest in gone), kept=kept)


class RestoreParams(Params):
    database: Database
    backup: Annotated[str, Field(pattern=r"^[\w.-]+$", max_length=255)]


class RestoreData(BaseModel):
    """`kept_as` is what the database that was there before is called now; "" when there was none."""

    backup: str
    sha256: str
    tables: int
    rows: int | None
    restored: Literal[True] = True
    kept_as: str
    seconds: float

    @classmethod
    def of(cls, manifest: Manifest, kept_as: str, seconds: float) -> Self:
        return cls(
            backup=manifest.file.name,
            sha256=manifest.data.sha256,
            tables=manifest.data.tables,
            rows=manifest.data.rows,
            kept_as=kept_as,
            seconds=round(seconds, 2),
        )
