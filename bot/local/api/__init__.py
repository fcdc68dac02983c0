"""The Web API's methods."""
