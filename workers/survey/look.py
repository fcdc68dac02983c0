"""`python -m workers survey`: one look around, as JSON on standard output."""

import argparse
import os
from pathlib import Path

from storage.contract.survey import Survey
from workers.builtin.kubernetes.rights import NEEDED, WANTED
from workers.survey import clusters, databases, suites


def main(arguments: list[str]) -> int:
    what = "print what there is to work on, as JSON"
    parser = argparse.ArgumentParser(prog="python -m workers survey", description=what)
    parser.add_argument("--context", default="", help="of the kubeconfig; the one in use")
    parser.add_argument("--project", type=Path, default=Path(), help="whose tests to look for; this folder")
    given = parser.parse_args(arguments)
    print(survey(given.context, given.project).model_dump_json())
    return 0


def survey(context: str, project: Path) -> Survey:
    known, current = clusters.contexts(context)
    wanted = context or current
    return Survey(
        contexts=tuple(known),
        cluster=clusters.look(wanted) if wanted else None,
        databases=databases.look(os.environ),
        suite=suites.look(project),
        rights=tuple((right.verb, right.group, right.resource, right.part) for right in (*NEEDED, *WANTED)),
    )
