"""Each mode has its identity, the common rules first, and then its own rules."""

from __future__ import annotations

from xml.etree import ElementTree as ET

import pytest

from maestro.domain.sessions import SessionMode
from maestro.prompts.compose import system_prompt
from maestro.prompts.session_rules import identity_of_mode, rules_of_mode
from maestro.prompts.templates import packaged_templates
from maestro.testing.manifests import make_manifest


def test_the_first_rule_of_each_system_prompt_is_the_rule_authority() -> None:
    mode_of = {"execute-plan": SessionMode.PLAN, "coordinate-default": SessionMode.COORDINATE}
    for name in ("coordinate-default", "execute-simple", "execute-plan"):
        prompt = system_prompt(
            make_manifest(mode_of.get(name, SessionMode.EXECUTE)), packaged_templates().get_template(name)
        )
        rules = ET.fromstring(prompt).findall("rules/rule")
        assert rules[0].get("name") == "authority"


@pytest.mark.parametrize("mode", SessionMode)
def test_each_mode_has_an_identity_that_is_not_in_its_list_of_rules(mode: SessionMode) -> None:
    names = [rule.name for rule in rules_of_mode(mode)]
    assert identity_of_mode(mode).startswith("You ")
    assert "identity" not in names
    assert len(set(names)) == len(names)


def test_each_mode_has_the_common_rules_first_and_its_own_rules_after() -> None:
    rules = {mode: [rule.name for rule in rules_of_mode(mode)] for mode in SessionMode}
    common = [name for name in rules[SessionMode.EXECUTE] if all(name in names for names in rules.values())]
    assert common and all(names[: len(common)] == common for names in rules.values())
    assert all(len(names) > len(common) for names in rules.values())


def test_executors_and_planners_share_the_rules_of_workers() -> None:
    execute, plan, coordinate = (
        {rule.text for rule in rules_of_mode(mode)}
        for mode in (SessionMode.EXECUTE, SessionMode.PLAN, SessionMode.COORDINATE)
    )
    assert (execute & plan) - coordinate
    assert len({identity_of_mode(mode) for mode in SessionMode}) == len(SessionMode)
