"""What the demo shows beside the workspace: a title, a guide, things to type, controls."""

from dataclasses import dataclass
from typing import Any

from bot.local.shapes import Control, Shortcut


@dataclass(frozen=True)
class Scene:
    """The words and controls of the page; the guide is mrkdwn."""

    title: str = "Signoff"
    guide: str = ""
    suggestions: tuple[str, ...] = ()
    controls: tuple[Control, ...] = ()
    commands: tuple[str, ...] = ("/plan",)
    shortcuts: tuple[Shortcut, ...] = ()

    def to_json(self) -> dict[str, Any]:
        return {
            "title": self.title,
            "guide": self.guide,
            "suggestions": list(self.suggestions),
            "commands": list(self.commands),
            "shortcuts": [vars(shortcut) for shortcut in self.shortcuts],
        }
