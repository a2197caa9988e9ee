"""A tool server of forty lines: the shop's stock, over the Model Context Protocol on stdin and stdout."""

import csv
from pathlib import Path

from mcp.server.mcpserver import MCPServer
from mcp_types import ToolAnnotations

STOCK = Path(__file__).with_name("stock.csv")
ordered: dict[str, int] = {}

server = MCPServer("shop", instructions="The stock of a small shop. Items are cup, plate and pot.")


@server.tool(annotations=ToolAnnotations(read_only_hint=True))
def stock(item: str) -> str:
    """How many of an item are left, on which shelf, and when to order more."""
    with STOCK.open() as file:
        for row in csv.DictReader(file):
            if row["item"] == item:
                return f"{row['in_stock']} on shelf {row['shelf']}; order more at {row['reorder_at']}"
    return f"There is no {item}."


@server.tool()
def order_more(item: str, quantity: int) -> str:
    """Order more of an item. This costs money."""
    ordered[item] = ordered.get(item, 0) + quantity
    return f"Ordered {quantity}; under way: {ordered[item]}."


@server.prompt()
def restock(item: str) -> str:
    """What to ask when the shelf looks empty."""
    return f"How much of {item} is left, and should we order more?"


if __name__ == "__main__":
    server.run()
