"""The methods of Slack's Web API that an app may call. What they change lies in state."""
