"""What only the bot reads from the environment."""

from pydantic import AliasChoices, Field, SecretStr

from storage.config import Settings


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
    http_port: int = Field(default=0, ge=0, le=65535)  # SIGNOFF_HTTP_PORT: HTTP mode; 0 is Socket Mode
    http_host: str = "127.0.0.1"  # a proxy in front speaks TLS
    slack_api_url: str = Field(
        default="https://slack.com/api/", validation_alias=AliasChoices("SLACK_API_URL")
    )
    factor_key: SecretStr = SecretStr("")  # SIGNOFF_FACTOR_KEY: seals second factors; `signoff factor key`
    anthropic_api_key: SecretStr = Field(
        default=SecretStr(""), validation_alias=AliasChoices("ANTHROPIC_API_KEY")
    )
