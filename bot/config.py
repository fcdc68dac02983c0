"""What only the bot reads from the environment."""

from pydantic import AliasChoices, Field, SecretStr

from bot.tickets import Tickets, kept_key
from storage.config import Settings

BOARD_UNKNOWING = (
    "SIGNOFF_BOARD_TOKEN is not set: the board asks Slack who people are. docs/board.md tells which scopes "
    "it needs."
)


class BotSettings(Settings):
    """Slack's and the model's secrets keep the names their own tools use."""

    slack_bot_token: SecretStr = Field(
        default=SecretStr(""), validation_alias=AliasChoices("SLACK_BOT_TOKEN")
    )
    slack_app_token: SecretStr = Field(
        default=SecretStr(""), validation_alias=AliasChoices("SLACK_APP_TOKEN")
    )
    slack_signing_secret: SecretStr = Field(
        default=SecretStr(""), validation_alias=AliasChoices("SLACK_SIGNING_SECRET")
    )
    http_port: int = Field(default=0, ge=0, le=65535)  # SIGNOFF_HTTP_PORT: doors for machines, and for Slack
    http_host: str = "127.0.0.1"  # a proxy in front speaks TLS
    public_url: str = ""  # SIGNOFF_PUBLIC_URL: how machines reach that proxy
    url: str = ""  # SIGNOFF_URL: of another Signoff, for `signoff propose` and `signoff mcp`
    token: SecretStr = SecretStr("")  # SIGNOFF_TOKEN: for that
    slack_api_url: str = Field(
        default="https://slack.com/api/", validation_alias=AliasChoices("SLACK_API_URL")
    )
    board_port: int = Field(default=0, ge=0, le=65535)  # SIGNOFF_BOARD_PORT: the board; 0 is none
    board_host: str = "127.0.0.1"
    board_url: str = ""  # SIGNOFF_BOARD_URL: where people reach it, if a proxy stands in front
    board_key: SecretStr = SecretStr("")  # seals its links; without it, one is kept beside the state
    board_token: SecretStr = SecretStr("")  # its own Slack token, which only reads
    board_database_url: str = ""  # with a role of its own; without it, as everybody
    factor_key: SecretStr = SecretStr("")  # SIGNOFF_FACTOR_KEY: seals second factors; `signoff factor key`
    anthropic_api_key: SecretStr = Field(
        default=SecretStr(""), validation_alias=AliasChoices("ANTHROPIC_API_KEY")
    )

    @property
    def slack_by_http(self) -> bool:
        """Whether Slack comes by signed requests: a port and its secret. Else it is Socket Mode."""
        return bool(self.http_port and self.slack_signing_secret.get_secret_value().strip())

    def tickets(self) -> Tickets:
        """Where the board is, and what seals its links; nothing without one."""
        here = f"http://{self.board_host}:{self.board_port}" if self.board_port else ""
        address = (self.board_url or here).rstrip("/")
        key = self.board_key.get_secret_value().strip()
        return Tickets(address, key or kept_key(self.state)) if address else Tickets()
