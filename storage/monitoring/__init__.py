"""What a monitor asks: health and figures. Nothing here changes a row."""
