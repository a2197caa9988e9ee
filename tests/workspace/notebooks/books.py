"""Notebooks that the tests use."""

from __future__ import annotations

from typing import Any

import nbformat

# nbformat is only partly typed
node: Any = nbformat.from_dict  # pyright: ignore[reportUnknownMemberType, reportUnknownVariableType]


def code(id: str, source: str, outputs: list[dict[str, Any]] | None = None, count: int | None = None) -> dict[str, Any]:
    rest: dict[str, Any] = {
        "cell_type": "code",
        "source": source,
        "metadata": {},
        "outputs": outputs or [],
        "execution_count": count,
    }
    return {"id": id, **rest}


def text(id: str, source: str, **more: Any) -> dict[str, Any]:
    return {"id": id, "cell_type": "markdown", "source": source, "metadata": {}, **more}


def stream(said: str) -> dict[str, Any]:
    return {"output_type": "stream", "name": "stdout", "text": said}


def book(*cells: dict[str, Any], minor: int = 5, **metadata: Any) -> dict[str, Any]:
    about = {
        "kernelspec": {"name": "python3", "display_name": "Python 3", "language": "python"},
        "language_info": {"name": "python"},
        **metadata,
    }
    return {"nbformat": 4, "nbformat_minor": minor, "metadata": about, "cells": list(cells)}


PICTURE = {"plan.png": {"image/png": "iVBORw0KGgo="}}


def usual() -> dict[str, Any]:
    """A notebook with a text that has a picture, a cell that ran, and a cell that did not. Each contains something
    that must survive edits."""
    ran = code("ran", "print('hé')\n2", [stream("hé\n"), _result("2")], 7) | {"metadata": {"tags": ["mine"]}}
    return book(text("intro", "# Plan\n![](attachment:plan.png)", attachments=PICTURE), ran, code("new", "1 + 1"))


def _result(shown: str) -> dict[str, Any]:
    return {"output_type": "execute_result", "data": {"text/plain": shown}, "metadata": {}, "execution_count": 7}
