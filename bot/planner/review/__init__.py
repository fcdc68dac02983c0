"""How a plan goes on after a step: rules, advice, and the gate that judges both. Pure."""
