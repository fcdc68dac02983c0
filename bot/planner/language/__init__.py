"""Words of people: what each of them means for a plan, and which could not be used. Pure, and no model."""
