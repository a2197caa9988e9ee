"""The protocol's actions: each that a reducer knows has a model, and a model is written as the protocol wants it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from jupyter_eca.fronts.ahp.session.notes import NOTED_ACTIONS
from jupyter_eca.protocol.ahp import actions, content

CASES = sorted((Path(__file__).parents[1] / "fixtures" / "ahp" / "reducers").glob("*.json"))


def types_of(model: type[actions.AhpAction]) -> set[str]:
    kind = model.model_fields.get("type")
    own = {kind.default} if kind is not None else set[str]()
    return own.union(*(types_of(each) for each in model.__subclasses__()))


TYPES = types_of(actions.AhpAction)


@pytest.mark.parametrize("case", CASES, ids=lambda path: path.stem)
def test_each_action_of_the_shared_fixtures_has_a_model(case: Path) -> None:
    found: list[dict[str, Any]] = json.loads(case.read_text())["actions"]
    # The protocol tells hosts to ignore an action that they do not know; fixtures have such ones on purpose.
    assert {str(action["type"]) for action in found if not str(action["type"]).endswith("Action")} <= TYPES


def test_notes_are_written_after_actions_that_exist() -> None:
    assert NOTED_ACTIONS <= TYPES


def test_an_action_is_written_with_its_type_first_and_without_absent_fields() -> None:
    part = content.ContentPart(uri="eca:/c/1", content_type="image/png", size_hint=3)
    added = actions.PartAdded(session="eca:/c", turn_id="t", part=part)
    assert json.dumps(added.as_json_object()) == json.dumps(
        {
            "type": "session/responsePart",
            "session": "eca:/c",
            "turnId": "t",
            "part": {"kind": "contentRef", "uri": "eca:/c/1", "contentType": "image/png", "sizeHint": 3},
        }
    )
    assert actions.ActivityChanged(session="eca:/c").as_json_object() == {
        "type": "session/activityChanged",
        "session": "eca:/c",
    }
