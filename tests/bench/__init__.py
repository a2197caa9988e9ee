"""Measurements against the budgets of the design. They inform: nothing here fails, and no test asserts a time.

`python -m tests.bench` measures all, `python -m tests.bench load answer` some. What can be is measured side by side
with what it is compared to, in turns, so that other work on the machine slows both alike.
"""
