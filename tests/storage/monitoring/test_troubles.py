"""What a monitor is told of what lies outside."""

from storage.monitoring.health import Health, Pulse
from storage.monitoring.troubles import Troubles


def test_a_serious_trouble_makes_a_process_unready_until_it_is_mended(lite):
    troubles = Troubles()
    health = Health(lite, Pulse(), troubles)
    troubles.say("Slack", "Slack cannot be reached.")
    during, alive = health.answer("/readyz"), health.answer("/healthz")
    troubles.mend("Slack")

    assert during == (503, "Slack cannot be reached.\n")
    assert (alive, health.answer("/readyz")) == ((200, "ok\n"), (200, "ok\n"))


def test_a_remark_is_said_and_no_more(lite):
    troubles = Troubles()
    troubles.say("model", "The model does not answer.", serious=False)

    assert Health(lite, Pulse(), troubles).answer("/readyz") == (200, "ok\nThe model does not answer.\n")
