"""Who opens the doors pays nothing for agents that never knock."""

import subprocess
import sys


def test_the_protocol_is_not_loaded_before_somebody_knocks() -> None:
    code = "import sys, bot.process, bot.machines.opening; print('mcp' in sys.modules)"
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    assert ran.stdout.strip() == "False"
