"""manifest.yml asks for what the code uses, and for no more."""

import ast
from typing import Any

import pytest
import yaml

from bot.local.api.methods import METHODS
from bot.local.api.scopes import NEEDED
from bot.slack.app import PLAN_THIS
from tests.support.places import ROOT

# Facts about direct messages are asked of nobody.
NOT_ASKED = {"im:read"}
# What an app does every day, and this one not yet: an element or a method that comes with its user.
COMING = {"views.push", "views.update", "chat.delete", "chat.getPermalink", "reactions.remove"}
# Helpers of the client that make several calls, or whose name has more than one part.
CALLS = {
    "files_upload_v2": ("files.getUploadURLExternal", "files.completeUploadExternal"),
    "usergroups_users_list": ("usergroups.users.list",),
    "assistant_threads_setStatus": ("assistant.threads.setStatus",),
    "apps_connections_open": ("apps.connections.open",),
}
# From Slack's manifest schema 2.0.0: the sections we use are closed objects with these keys.
KEYS = {
    "": {"_metadata", "display_information", "features", "oauth_config", "settings"},
    "_metadata": {"major_version", "minor_version"},
    "display_information": {"name", "description", "background_color", "long_description"},
    "features": {"app_home", "bot_user", "slash_commands", "shortcuts", "agent_view"},
    "features.app_home": {"home_tab_enabled", "messages_tab_enabled", "messages_tab_read_only_enabled"},
    "features.bot_user": {"display_name", "always_online"},
    "oauth_config": {"scopes"},
    "oauth_config.scopes": {"bot"},
    "settings": {"event_subscriptions", "interactivity", "org_deploy_enabled", "socket_mode_enabled",
                 "token_rotation_enabled"},
    "settings.event_subscriptions": {"bot_events"},
    "settings.interactivity": {"is_enabled"},
}  # fmt: skip
LENGTHS = {
    "display_information.name": 35,
    "display_information.description": 140,
    "features.bot_user.display_name": 80,
}


@pytest.fixture(scope="module")
def manifest() -> dict[str, Any]:
    loaded: dict[str, Any] = yaml.safe_load((ROOT / "manifest.yml").read_text())
    return loaded


def at(manifest: dict[str, Any], path: str) -> Any:
    found: Any = manifest
    for part in path.split(".") if path else ():
        found = found[part]
    return found


def methods() -> set[str]:
    """The Web API methods that the bot calls."""
    files = [path for path in (ROOT / "bot").rglob("*.py") if "local" not in path.relative_to(ROOT).parts]
    names = {
        n.attr
        for path in files
        for n in ast.walk(ast.parse(path.read_text()))
        if isinstance(n, ast.Attribute)
    }
    prefixes = (
        "chat_",
        "views_",
        "conversations_",
        "users_",
        "usergroups_",
        "files_",
        "reactions_",
        "apps_",
        "auth_",
        "bots_",
        "assistant_",
    )
    return {name for name in names if name.startswith(prefixes)}


def calls() -> set[str]:
    return {call for name in methods() for call in CALLS.get(name, (name.replace("_", ".", 1),))}


@pytest.mark.parametrize("path", KEYS)
def test_every_section_has_only_keys_that_slack_knows(manifest: dict[str, Any], path: str) -> None:
    assert set(at(manifest, path)) <= KEYS[path]


@pytest.mark.parametrize("path", LENGTHS)
def test_names_fit(manifest: dict[str, Any], path: str) -> None:
    assert 1 <= len(at(manifest, path)) <= LENGTHS[path]


def test_the_scopes_are_those_of_the_methods_in_the_code(manifest: dict[str, Any]) -> None:
    needed = {"commands", "app_mentions:read"}.union(*(NEEDED[call].values() for call in calls()))

    assert set(manifest["oauth_config"]["scopes"]["bot"]) == needed - NOT_ASKED


def test_the_local_workspace_has_the_methods_that_the_bot_uses_and_no_others() -> None:
    assert calls() <= METHODS.keys()
    assert METHODS.keys() - calls() <= COMING
    assert METHODS.keys() == NEEDED.keys()


def test_commands_and_events_are_those_that_are_listened_for(manifest: dict[str, Any]) -> None:
    assert [command["command"] for command in manifest["features"]["slash_commands"]] == ["/plan"]
    assert [shortcut["callback_id"] for shortcut in manifest["features"]["shortcuts"]] == [PLAN_THIS]
    assert manifest["features"]["app_home"]["home_tab_enabled"] is True
    assert manifest["settings"]["event_subscriptions"]["bot_events"] == [
        "app_home_opened",
        "app_mention",
        "message.channels",
        "message.groups",
        "message.im",
    ]
    assert manifest["settings"]["socket_mode_enabled"] is True
