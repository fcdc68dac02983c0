"""Extras: packages that an installation may leave out, and the sentence for whoever needs one after all."""

from importlib.util import find_spec

# Package as it is imported → what people call it, and the extra that brings it.
EXTRAS = {
    "kubernetes": ("The client for Kubernetes", "kubernetes"),
    "duckdb": ("DuckDB", "data"),
    "procrastinate": ("Procrastinate", "cluster"),
    "PIL": ("Pillow", "demo"),
    "pytest": ("pytest", "demo"),
    "mcp": ("The package mcp", "mcp"),
    "claude_agent_sdk": ("The agents' SDK", "agents"),
    "cryptography": ("The package cryptography", "factors"),
    "segno": ("The package segno", "factors"),
    "tzdata": ("The package tzdata", "zones"),
}


def missing(package: str) -> str:
    """What to say where it is not installed; "" where it is."""
    name, extra = EXTRAS[package]
    return "" if _is_there(package) else f"{name} is not installed. Install signoff[{extra}]."


def _is_there(package: str) -> bool:
    try:
        return find_spec(package) is not None
    except (ImportError, ValueError):
        return False
