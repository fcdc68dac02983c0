"""Times as people say them, found anywhere in a sentence and said again as `bot.times` knows them."""
