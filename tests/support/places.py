"""Where things of this project lie, for tests that look at files."""

from pathlib import Path

ROOT = Path(__file__).parents[2]
ARTIFACTS = ROOT / "tests" / "artifacts"  # screenshots that tests keep
