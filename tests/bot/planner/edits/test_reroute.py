"""Another step in the place of one: what waited for it is led there, under names of its own."""

from bot.planner.edits.reroute import fresh, rerouted
from bot.planner.validate import Catalogue
from storage.contract.spec import PlanSpec
from tests.support.fakes import DEPLOY, READ, step


def test_what_waited_is_led_to_what_stands_in_its_place():
    look = step("look", READ)
    after = step("after", READ, depends_on=("look",), parameters={"service": "b"})
    use = step("use", READ, depends_on=("after",), parameters={"service": {"from": "look.version"}})
    bring = step("bring", DEPLOY, depends_on=("look",))
    plan = PlanSpec(goal="x", steps=(look, after, use, bring))
    parts = [step("part-1", READ), step("part-2", READ)]

    made = {s.id: s for s in rerouted(plan, "look", parts, Catalogue([READ, DEPLOY])).steps}

    assert [*made] == ["part-1", "part-2", "after-2", "use-2", "bring"]
    assert made["after-2"].depends_on == ("part-1", "part-2")
    assert made["use-2"].depends_on == ("after-2",)
    assert made["use-2"].parameters == {"service": {"from": "part-2.version"}}
    assert made["bring"].depends_on == ("part-1", "part-2")


def test_a_name_that_is_taken_is_not_given_again():
    assert fresh("look", {"look"}) == "look-2"
    assert fresh("look-2", {"look-2", "look-3"}) == "look-4"
    assert len(fresh("x" * 40, ())) <= 40
