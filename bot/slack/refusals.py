"""What follows when Slack does not take a message, by the code that it answers with. Pure."""

from datetime import timedelta
from enum import StrEnum

from slack_sdk.errors import SlackApiError

AGAIN = 5.0  # seconds until the second try; then twice as many each time
LONGEST = 300.0
AWAY = 30.0  # the longest wait where Slack could not be reached: that is nobody's message's fault
ENOUGH = 10  # refusals of a code that we do not know, and then it is not tried again

UNUSABLE = {"invalid_blocks", "invalid_blocks_format", "msg_blocks_too_long", "msg_too_long", "no_text",
            "invalid_arguments", "invalid_attachments", "too_many_attachments", "metadata_too_large",
            "invalid_metadata_format", "invalid_metadata_schema"}  # fmt: skip
REFUSED = {"invalid_blocks", "invalid_blocks_format"}  # a block that this workspace does not know
TOO_LONG = {"msg_blocks_too_long", "msg_too_long"}
HOPELESS = {
    "channel_not_found": "I cannot find it (any more)",
    "is_archived": "it is archived",
    "not_in_channel": "I am not in it (any more)",
    "user_not_in_channel": "you are not in it",
    "thread_not_found": "the message that it belongs to was deleted",
    "cannot_reply_to_message": "the message that it belongs to takes no replies",
    "restricted_action": "only some may write there",
    "restricted_action_read_only_channel": "only some may write there",
    "restricted_action_non_threadable_channel": "nobody may write into threads there",
    "restricted_action_thread_locked": "its thread is locked",
    "ekm_access_denied": "the workspace's administrators have suspended it",
}
# Nobody is there (any more) who could read it.
NOBODY = {"user_disabled", "account_inactive", "user_not_found", "users_not_found", "user_not_visible",
          "cannot_dm_bot", "user_is_bot", "user_is_restricted", "user_is_ultra_restricted",
          "messages_tab_disabled", "invalid_user_id", "invalid_user_combination"}  # fmt: skip
GONE = {"message_not_found", "cant_update_message", "edit_window_closed"}
TOKEN = {
    "invalid_auth", "not_authed", "token_revoked", "token_expired", "account_inactive", "org_login_required",
    "team_access_not_granted", "access_denied", "two_factor_setup_required", "not_allowed_token_type",
    "accesslimited",
}  # fmt: skip
SCOPE = {"missing_scope", "no_permission", "not_allowed"}


class Then(StrEnum):
    """What becomes of a message that Slack refused."""

    paused = "paused"  # all of its kind wait as long as Slack says
    waits = "waits"  # tried again, later each time
    simpler = "simpler"  # shown in fewer words
    anew = "anew"  # somebody deleted it: posted again
    ends = "ends"  # never shown; why is on record
    away = "away"  # Slack itself is ill
    barred = "barred"  # the token or its rights: it waits for an operator


def verdict(code: str, status: int, *, shown: bool, tries: int, personal: bool = False) -> Then:
    """`shown`: it stands in Slack already. `personal`: it is for one person, and so may be the code."""
    if status == 429 or code in {"ratelimited", "rate_limited"}:
        return Then.paused
    if status >= 500:
        return Then.away
    if code in GONE:
        return Then.anew if shown else Then.ends
    if code in HOPELESS or (personal and code in NOBODY):
        return Then.ends
    return _of_its_own(code, tries)


def _of_its_own(code: str, tries: int) -> Then:
    if code in TOKEN or code in SCOPE:
        return Then.barred
    if code in UNUSABLE:
        return Then.simpler
    return Then.ends if code in NOBODY or tries >= ENOUGH else Then.waits


def backoff(tries: int, longest: float = LONGEST) -> timedelta:
    """How long a message waits that has failed so often before."""
    return timedelta(seconds=min(AGAIN * 2.0 ** min(tries, 10), longest))


def patience(said: str) -> float:
    """How long Slack asks us to wait, within reason, whatever stands in the header."""
    try:
        return min(max(1.0, float(said)), 300.0)  # in this order: NaN loses every comparison
    except ValueError:
        return 1.0


def barred(method: str, code: str, needed: str) -> tuple[str, str]:
    """What a monitor is told of a token that does not suffice: about what, and how to mend it."""
    if code in SCOPE:
        right = f" It needs {needed}." if needed else ""
        return f"scope of {method}", (
            f"Slack does not let the bot call {method} ({code}).{right} Install the app again with the "
            "scopes of manifest.yml."
        )
    return (
        "token",
        f"Slack refuses the bot token ({code}). Put a valid one into SLACK_BOT_TOKEN, and restart.",
    )


def code_of(error: SlackApiError) -> str:
    """Slack's error code, or the HTTP status of what was no answer of Slack's."""
    data = error.response.data
    known = data.get("error") if isinstance(data, dict) else None
    return str(known) if known else f"http_{error.response.status_code}"
