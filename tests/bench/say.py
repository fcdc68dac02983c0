"""How a bench says a figure."""


def say(name: str, value: float, limit: float = float("inf"), *, least: bool = False) -> None:
    good = value >= limit if least else value <= limit
    print(f"{name} {value:.2f} {limit:g} {'ok' if good else 'short'}", flush=True)  # noqa: T201 # this is its output
