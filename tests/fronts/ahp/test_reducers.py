"""The protocol's own 144 cases, and that nothing given is changed."""

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import pytest

from jupyter_eca.fronts.ahp.reducers import reduce_root, reduce_session, reduce_terminal

if TYPE_CHECKING:
    from jupyter_eca.fronts.ahp.reducers.base import Reducer

CASES = sorted((Path(__file__).parents[2] / "fixtures" / "ahp" / "reducers").glob("*.json"))
REDUCERS: dict[str, Reducer] = {"root": reduce_root, "session": reduce_session, "terminal": reduce_terminal}


def without_nulls(data: Any) -> Any:
    """In the cases null stands for what is absent."""
    if isinstance(data, dict):
        return {k: without_nulls(v) for k, v in cast("dict[str, Any]", data).items() if v is not None}
    return [without_nulls(one) for one in cast("list[Any]", data)] if isinstance(data, list) else data


@pytest.mark.parametrize("case", CASES, ids=lambda path: path.stem)
def test_a_case_of_the_protocol_comes_out_as_it_should(case: Path) -> None:
    given = without_nulls(json.loads(case.read_text()))
    state, before = given["initial"], copy.deepcopy(given)
    for action in given["actions"]:
        state = REDUCERS[given["reducer"]](state, action, 9999)
    assert state == given["expected"]
    assert given == before


def test_all_cases_are_there() -> None:
    assert len(CASES) == 144
