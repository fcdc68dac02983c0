"""What `tests.bench.processes` makes of processor time."""

from tests.bench.processes import Spent, by_cpu


def test_processor_time_is_given_per_step():
    assert Spent(3.0, 2.0, 9.0).since(Spent(1.0, 1.0, 1.0), 4) == Spent(0.5, 0.25, 2.0)


def test_idle_cores_give_four_processes_what_a_step_leaves_them():
    """One process is bound by its own core; four share all cores with the server."""
    one, four = Spent(workers=1.0, server=0.5, everybody=0), Spent(workers=1.0, server=1.0, everybody=0)

    assert by_cpu(one, four, cores=2) == 1.0
    assert by_cpu(one, four, cores=8) == 4.0


def test_what_others_did_meanwhile_is_said():
    assert str(Spent(0.001, 0.0005, 0.003)) == "workers 1.00 ms, server 0.50 ms, others 1.50 ms"
