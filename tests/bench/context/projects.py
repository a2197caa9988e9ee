"""The notebooks and files that the tasks work with. All data is made from fixed seeds."""

from __future__ import annotations

import csv
import json
import random
from datetime import date, timedelta
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

SALES = "sales.ipynb"

# Draws with pillow, which tests have anyway: a picture is a picture, whatever drew it.
CHARTS = '''"""Small charts, as images."""

from PIL import Image, ImageDraw

WIDTH, HEIGHT, EDGE = 640, 400, 40


def line(values, title=""):
    """Draw the values of a series as a line."""
    image, draw = _sheet(title)
    points = [(x, y) for x, y, _ in _places(values)]
    draw.line(points, fill="navy", width=3)
    return image


def bar(values, title="", labels=False):
    """Draw the values of a series as bars. With `labels` each bar has its value above it."""
    image, draw = _sheet(title)
    for x, y, value in _places(values):
        draw.rectangle((x - 12, y, x + 12, HEIGHT - EDGE), fill="steelblue")
        if labels:
            draw.text((x - 12, y - 14), f"{value:,.0f}", fill="black")
    return image


def _sheet(title):
    image = Image.new("RGB", (WIDTH, HEIGHT), "white")
    draw = ImageDraw.Draw(image)
    draw.text((EDGE, 10), title, fill="black")
    draw.line((EDGE, HEIGHT - EDGE, WIDTH - EDGE, HEIGHT - EDGE), fill="black")
    return image, draw


def _places(values):
    values = list(values)
    step = (WIDTH - 2 * EDGE) / max(len(values), 1)
    top = max(values) or 1
    return [
        (EDGE + step * (at + 0.5), HEIGHT - EDGE - (HEIGHT - 3 * EDGE) * value / top, value)
        for at, value in enumerate(values)
    ]
'''

_SALES_CELLS = (
    "# Sales of the shops\nWhat was sold in 2025, by region and by product.",
    'import pandas as pd\n\nimport charts\n\npd.set_option("display.width", 100)',
    "## Load\nOne row is one line of a receipt.",
    'df = pd.read_csv("data/sales.csv", parse_dates=["date"])\ndf.shape',
    "df.head()",
    "## Clean",
    "df = df.drop_duplicates()\nlen(df)",
    'df["region"] = df["region"].str.strip().str.title()\ndf["region"].value_counts()',
    "## Revenue\nThe price is that of one piece, before the discount.",
    'df["revenue"] = df["price"] * df["units"] * (1 - df["discount"])',
    'df["revenue"].describe().round(2)',
    'df["month"] = df["date"].dt.to_period("M").astype(str)',
    'monthly = df.groupby("month")["revenue"].sum().round(2)\nmonthly',
    "## Regions",
    'by_region = df.groupby("region")["revenue"].sum().sort_values(ascending=False).round(2)\nby_region',
    'charts.bar(by_region, title="Revenue by region")',
    "def top(frame, column, count=3):\n"
    '    """The values of a column with the most revenue."""\n'
    '    return frame.groupby(column)["revenue"].sum().nlargest(count).round(2)',
    'top(df, "product")',
    "## Discounts",
    'discounts = df.loc[df["discount"] > 0]\nlen(discounts), len(discounts) / len(df)',
    'discounts.groupby("region")["discount"].mean().round(3)',
    "## Shares",
    "def share(frame, column):\n"
    '    """The share of each value of a column in the revenue."""\n'
    '    total = frame["{revenue}"].sum()\n'
    '    return (frame.groupby(column)["revenue"].sum() / total).round(3)',
    "The share of each region in the revenue, which the report needs.",
    'regions = sorted(df["region"].unique())\nregions',
    'shares = share(df, "region")\nshares',
    "## Growth",
    "growth = monthly.pct_change()",
    "growth.round(3)",
    "## To do\n- the shares of the products\n- the forecast of the next quarter",
)

MARKDOWN = ("#", "The ", "## ")


def write_sales(folder: Path, *, broken: bool = False) -> None:
    """Write the notebook of 30 cells, with its data. With `broken` its function `share` has a wrong name of a column,
    and its cell 26 fails."""
    (folder / "charts.py").write_text(CHARTS)
    write_sales_data(folder)
    column = "Revenue" if broken else "revenue"
    write_notebook(folder / SALES, [source.replace("{revenue}", column) for source in _SALES_CELLS])


def write_sales_data(folder: Path) -> None:
    (folder / "data").mkdir(exist_ok=True)
    with (folder / "data" / "sales.csv").open("w", newline="") as file:
        rows = csv.writer(file)
        rows.writerow(["date", "region", "shop", "product", "price", "units", "discount"])
        rows.writerows(_make_sales())


def _make_sales() -> Iterable[list[Any]]:
    chance = random.Random(7)
    products = {"lamp": 49.0, "chair": 89.5, "table": 249.0, "shelf": 129.0, "rug": 75.25, "vase": 19.9}
    for _ in range(2_000):
        day = date(2025, 1, 1) + timedelta(days=chance.randrange(365))
        region = chance.choice(["North", "south", "East ", "West", "West"])
        product = chance.choice(list(products))
        discount = chance.choice([0, 0, 0, 0.05, 0.1, 0.25])
        shop = f"S{chance.randrange(1, 13):02}"
        yield [day.isoformat(), region, shop, product, products[product], chance.randrange(1, 9), discount]


def write_notebook(path: Path, sources: Iterable[str], prefix: str = "c") -> None:
    """Write a notebook whose cells have the ids c00, c01 and so on. A source that begins as prose is Markdown."""
    cells = [_make_cell(f"{prefix}{number:02}", source) for number, source in enumerate(sources)]
    kernel = {"name": "python3", "display_name": "Python 3", "language": "python"}
    metadata = {"kernelspec": kernel, "language_info": {"name": "python"}}
    document = {"nbformat": 4, "nbformat_minor": 5, "metadata": metadata, "cells": cells}
    path.write_text(json.dumps(document, indent=1) + "\n")


def _make_cell(id: str, source: str) -> dict[str, Any]:
    cell: dict[str, Any] = {"id": id, "metadata": {}, "source": source}
    if source.startswith(MARKDOWN):
        return {"cell_type": "markdown", **cell}
    return {"cell_type": "code", **cell, "outputs": [], "execution_count": None}
