"""How tests are run is guessed from what their tool leaves in a folder."""

from pathlib import Path

import pytest

from workers.survey.suites import look


@pytest.mark.parametrize(
    ("files", "command"),
    [
        ({"pyproject.toml": "[tool.pytest.ini_options]\n"}, "pytest -q"),
        ({"tests/test_a.py": ""}, "pytest -q"),
        ({"package.json": '{"scripts": {"test": "vitest run"}}'}, "npx vitest run"),
        ({"package.json": '{"scripts": {"test": "node --test"}}'}, "node --test"),
        ({"package.json": '{"scripts": {"test": "make-it-so"}}'}, "npm test"),
        ({"package.json": '{"scripts": {"test": "echo \\"Error: no test specified\\" && exit 1"}}'}, ""),
        ({"package.json": "not json"}, ""),
        ({"package.json": "[]"}, ""),
        ({"go.mod": "module x"}, "go test ./..."),
        ({"Cargo.toml": ""}, "cargo test"),
        ({"Makefile": "all:\n\ntest: all\n\ttrue\n"}, "make test"),
        ({"pyproject.toml": "[project]\nname='x'\n"}, ""),
        ({}, ""),
    ],
)
def test_the_tool_is_told_by_its_files(tmp_path: Path, files: dict[str, str], command: str) -> None:
    for name, text in files.items():
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)

    found = look(tmp_path)

    assert " ".join(found.command if found else ()) == command


def test_a_project_with_an_environment_of_its_own_is_tested_by_it(tmp_path: Path) -> None:
    (tmp_path / "pytest.ini").touch()
    own = tmp_path / ".venv" / "bin" / "pytest"
    own.parent.mkdir(parents=True)
    own.touch()

    found = look(tmp_path)

    assert found
    assert found.command == (str(own), "-q")
