"""Cards, forms and messages as Slack blocks, made from what is stored. Pure: nothing here speaks to Slack."""
