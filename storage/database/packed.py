"""Documents of plans that have ended, packed where they lie: what they say stays the same to every reader.

A row holds a document as it was written, or deflated. Both are read, so nothing must be converted at once,
and a document that would not grow smaller stays as it is. Whether one was changed is not asked here: hashes
tell.
"""

import base64
import binascii
import json
import zlib
from collections.abc import Callable
from typing import Any

from sqlalchemy import JSON, ColumnElement, Dialect, String, Text
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.sql.compiler import SQLCompiler
from sqlalchemy.types import Boolean, LargeBinary, NullType, TypeDecorator, TypeEngine

FIRST = b"\x01"  # begins what was packed with WORDS; another dictionary gets another mark
# What documents say again and again, the commonest last. It never changes: what is packed needs it.
WORDS = (
    b'{"second_factor":false,"authors":false,"denied":[],"said":[],"glass":[]}{"questions": ["options"'
    b'"environment": "production", "version": "v1.", "service": "database": "endpoint": "seconds": 0.'
    b'"given": 1, "needed": 1, "opened": false, "via": "click"}, "via": "command"}"reason": "every step '
    b'succeeded", "outcome": "succeeded"}{"text": ", "channel": "C{"risk": "high", "words": "'
    b'{"revision": 1, "state": "made", "text": "", "basis": "", "found": [""], "was": ""}"shown": "'
    b'{"status": "failed", "kind": "transient", "permanent", "message": "{"goal":"","steps":[{"id":"",'
    b'"worker":"","action":"","purpose":"","parameters":{"service":"","environment":"production","version":"'
    b'"},"depends_on":[],"schedule":{"window":"","at":"","not_before":null,"not_after":null,"zone":"UTC",'
    b'"closed":[],"overrun":"finish"},"success_criteria":[],"failure_action":"ask","retries":{"attempts":3,'
    b'"wait":5.0},"contract":"","binding":""}],"rollback":[{"undoes":"}],"done_when":[],"mandate":{"reads":true,'
    b'"extra":[],"max_added_steps":5,"max_cost_usd":1.0},"continues":false,"review":"anomalies"}"success_criteria'
    b'":[{"field":"","op":"eq","value":0,"name":"{"status": "succeeded", "summary": "", "data": {"'
    b'"error": null, "recommendations": [], "artifacts": []}{"step": "", "policy": "", "approvers": ["'
    b'{"step": "", "attempt": 1, "digest": "", "target": ""}{"step": "", "attempt": 1, "summary": "", "'
    b'report": "'
)
MOST = 64_000_000  # bytes of a document: nobody fills the memory with a few changed ones
Raw = str | bytes


def pack(text: str) -> bytes | None:
    """It, deflated; None where that makes it no smaller."""
    deflate = zlib.compressobj(9, wbits=-15, zdict=WORDS)
    made = FIRST + deflate.compress(text.encode("utf-8", "surrogatepass")) + deflate.flush()
    return made if len(made) < len(text) else None


def unpack(packed: bytes) -> str:
    """What was packed; ValueError where this was changed since."""
    if packed[:1] != FIRST:
        raise ValueError("it was packed by another release, or changed")
    inflate = zlib.decompressobj(wbits=-15, zdict=WORDS)
    try:
        text = inflate.decompress(packed[1:], MOST)
    except zlib.error as error:
        raise ValueError(f"it was changed since it was packed: {error}") from None
    if not inflate.eof or inflate.unused_data:
        raise ValueError("it was changed since it was packed")
    return text.decode("utf-8", "surrogatepass")


def armoured(packed: bytes) -> str:
    """For a column that holds text only."""
    return base64.b64encode(packed).decode()


def plain(raw: Raw) -> str:
    """The JSON text of a document as it lies in a row: as it was written, deflated, or that as letters."""
    if isinstance(raw, bytes):
        return unpack(raw)
    if raw[:1] != '"':
        return raw
    try:
        return unpack(base64.b64decode(json.loads(raw), validate=True))
    except (binascii.Error, TypeError, ValueError) as error:
        raise ValueError(f"it is no document: {error}") from None


class Document(TypeDecorator[Any]):
    """A JSON object, as it was written or packed."""

    impl = JSON
    cache_ok = True

    def result_processor(self, dialect: Dialect, coltype: object) -> Callable[[Any], Any]:
        read = self.impl_instance.dialect_impl(dialect).result_processor(dialect, coltype)
        read = read or (lambda value: value)

        def found(value: Any) -> Any:
            if isinstance(value, bytes):
                return json.loads(unpack(value))
            made = read(value)
            return json.loads(plain(json.dumps(made))) if isinstance(made, str) else made

        return found


class Paper(TypeDecorator[str]):
    """The JSON text of an object, as it was written or packed."""

    impl = Text
    cache_ok = True

    def process_result_value(self, value: Any, dialect: Dialect) -> str | None:
        return plain(value) if isinstance(value, bytes) or (value and value[0] == '"') else value


class Digest(TypeDecorator[str]):
    """A hash in hexadecimal, kept as that or, in SQLite, as its bytes."""

    impl = String
    cache_ok = True

    def process_result_value(self, value: Any, dialect: Dialect) -> str | None:
        return value.hex() if isinstance(value, bytes) else value


def laid(document: TypeEngine[Any], packed: bytes, dialect: str) -> tuple[TypeEngine[Any], bytes | str]:
    """How a packed one is written into such a column: as bytes, or in PostgreSQL as letters in quotes."""
    if dialect == "sqlite":
        return LargeBinary(), packed
    letters = armoured(packed)
    return (JSON(), letters) if isinstance(document, Document) else (Text(), json.dumps(letters))


class AsItLies(ColumnElement[Any]):
    """A document's column as the driver gives it: `plain` makes its text of that."""

    inherit_cache = False  # two of them differ by their column, which no key tells
    type: TypeEngine[Any] = NullType()

    def __init__(self, column: Any) -> None:
        self.column = column


class IsPacked(AsItLies):
    """Whether a document is packed where it lies."""

    inherit_cache = False
    type = Boolean()


def is_packed(document: Any) -> ColumnElement[bool]:
    return IsPacked(document)


@compiles(IsPacked, "sqlite")
def _is_blob(element: AsItLies, compiler: SQLCompiler, **options: Any) -> str:
    return f"(typeof({compiler.process(element.column)}) = 'blob')"


@compiles(IsPacked, "postgresql")
def _is_letters(element: AsItLies, compiler: SQLCompiler, **options: Any) -> str:
    return f"(left(CAST({compiler.process(element.column)} AS TEXT), 1) = '\"')"


@compiles(AsItLies, "sqlite")
def _as_given(element: AsItLies, compiler: SQLCompiler, **options: Any) -> str:
    return compiler.process(element.column)


@compiles(AsItLies, "postgresql")
def _as_text(element: AsItLies, compiler: SQLCompiler, **options: Any) -> str:
    return f"CAST({compiler.process(element.column)} AS TEXT)"
