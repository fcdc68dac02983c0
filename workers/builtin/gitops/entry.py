"""`[inventory.gitops.*]`: where a service's version stands in git, and where it then runs."""

import re
from pathlib import PurePosixPath
from typing import Self

from pydantic import Field, model_validator

from workers.builtin.shared.entries import Setting


class GitopsEntry(Setting):
    """The version is the tag of `image` in a kustomization, or the value at `path` in any YAML."""

    repository: str = Field(min_length=1)
    branch: str = Field(default="main", pattern=r"^[A-Za-z0-9][A-Za-z0-9._/-]*$")
    file: str = Field(min_length=1)
    image: str = ""
    path: str = ""
    cluster: str
    namespace: str = "default"
    environment: str = "production"
    deployment: str = ""
    wait_seconds: float = Field(default=600.0, gt=0, le=1500)
    author: str = Field(default="Signoff <signoff@localhost>", pattern=r"^[^<>\n]+ <[^<>\s]+>$")

    @model_validator(mode="after")
    def _findable(self) -> Self:
        place = PurePosixPath(self.file)
        if place.is_absolute() or ".." in place.parts:
            raise ValueError("'file' is a place inside the repository: relative, and without '..'")
        if not self.path and not (self.image and place.name in KUSTOMIZATIONS):
            raise ValueError("needs 'path', or 'image' and a kustomization.yaml")
        if self.repository.startswith("-") or re.search(r"//[^/@]*:[^/@]*@", self.repository):
            raise ValueError(
                "'repository' is an address without a password; git's credential helper has those"
            )
        return self


KUSTOMIZATIONS = ("kustomization.yaml", "kustomization.yml", "Kustomization")
