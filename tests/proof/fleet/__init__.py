"""Many agents at once through the product, with faults that it does not know, and kills."""
