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
    slack_api_url: str = Field(
        default="https://slack.com/api/", validation_alias=AliasChoices("SLACK_API_URL")
    )
    anthropic_api_key: SecretStr = Field(
        default=SecretStr(""), validation_alias=AliasChoices("ANTHROPIC_API_KEY")
    )
