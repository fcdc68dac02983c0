"""How the app hears of what people did: Socket Mode or signed requests. Decides nothing."""
