"""Kernels of other languages: their variables are listed by a program in their own language. R is a real IRkernel."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import pytest
import pytest_asyncio
from jupyter_client.kernelspec import KernelSpecManager
from jupyter_client.manager import start_new_async_kernel

from jupyter_eca.errors import ToolError
from jupyter_eca.protocol.notebook import Column, RunStatus
from jupyter_eca.workspace.kernels import languages
from jupyter_eca.workspace.kernels.client import ClientKernel

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator

    from jupyter_eca.protocol.notebook import Variable

PATIENCE = 60

SETTING_UP = """
df <- data.frame(city = c("Bonn", "Köln"), size = 1:2)
x <- c(1.5, 2, 3); m <- matrix(1:6, 2); fa <- factor(c("u", "v")); s <- "say \\"hi\\""; n <- NULL
fit <- lm(mpg ~ wt, mtcars); big <- runif(1e6)
f <- function(x, y = 2) {
  # adds
  x + y
}
str.slow <- function(object, ...) Sys.sleep(60)
slow <- structure(1, class = "slow"); within <- list(slow)
makeActiveBinding("counter", function() stop("looked at"), globalenv())
delayedAssign("promised", while (TRUE) {}, assign.env = globalenv())
"""

has_r = pytest.mark.skipif(
    "ir" not in KernelSpecManager().find_kernel_specs(), reason="there is no R kernel (Debian: r-cran-irkernel)"
)
pytestmark = pytest.mark.asyncio(loop_scope="module")


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def r() -> AsyncGenerator[ClientKernel]:
    async with asyncio.timeout(PATIENCE * 3):
        started: tuple[Any, Any] = await start_new_async_kernel(kernel_name="ir")
        manager, client = started
        kernel = ClientKernel(manager, client)
        assert (await kernel.execute(SETTING_UP)).status is RunStatus.OK
        yield kernel
        kernel.close()
        await manager.shutdown_kernel(now=True)


async def describe(kernel: ClientKernel, *names: str) -> dict[str, Variable]:
    async with asyncio.timeout(PATIENCE):
        return {one.name: one for one in (await kernel.variables(names, "r")).variables}


@has_r
async def test_r_variables_are_described_by_type_shape_and_preview(r: ClientKernel) -> None:
    found = await describe(r)
    assert found["df"].type == "data.frame"
    assert found["df"].shape == (2, 2)
    assert found["df"].columns == (Column(name="city", dtype="character"), Column(name="size", dtype="integer"))
    assert "Köln" in found["df"].sample
    assert (found["x"].length, found["x"].dtype, found["x"].preview) == (3, "double", "1.5 2 3")
    assert (found["m"].shape, found["s"].preview, found["n"].preview) == ((2, 3), '"say \\"hi\\""', "NULL")
    assert found["f"].preview == "function (x, y = 2)"
    assert found["fa"].preview.startswith('Factor w/ 2 levels "u","v"')
    assert found["fit"].type == "lm"


@has_r
async def test_r_variables_that_were_asked_for_by_name_are_described_in_more_detail(r: ClientKernel) -> None:
    found = await describe(r, "big", "fit")
    assert (found["big"].length, found["big"].memory) == (1_000_000, 8_000_048)
    assert "residuals" in found["fit"].sample


@has_r
async def test_an_r_table_that_was_asked_for_by_name_has_a_line_for_each_column(r: ClientKernel) -> None:
    await r.execute("wide <- data.frame(a = c(rep(-9999, 10), 1:90), b = NA, s = rep(c('OK', 'ok'), c(80, 20)))")
    found = await describe(r, "wide")
    assert found["wide"].profile.splitlines()[:4] == [
        "a numeric, -9999 10%, others 1..90, mean 45.5",
        "b logical, all NA",
        "s character, 2 values: 'OK' 80%, 'ok' 20%",
        "row 1: -9999, NA, 'OK'",
    ]
    assert found["wide"].sample == ""


@has_r
async def test_describing_an_r_variable_runs_no_code_of_the_user(r: ClientKernel) -> None:
    async with asyncio.timeout(10):
        found = await describe(r, "slow", "within", "counter")
    assert found["slow"].preview == "(not shown, its class is the user's own: double of length 1)"
    assert found["within"].preview == "(not shown, its class is the user's own: list of length 1)"
    assert (found["counter"].type, found["counter"].preview) == ("active binding", "")


@has_r
async def test_evaluating_a_promise_of_r_takes_no_longer_than_the_limit(r: ClientKernel) -> None:
    found = await describe(r)
    assert found["promised"].preview == "(not all of it is told: reached elapsed time limit)"
    await r.execute("for (i in 1:200) assign(paste0('aa', i), i)")
    found = await describe(r)
    await r.execute("rm(list = ls(pattern = '^aa'))")
    assert (found["promised"].type, found["promised"].preview) == ("unknown", "")


@has_r
@pytest.mark.parametrize(
    "name",
    ['x"); assign("taken", 1); c("', "\\", "\0", "\ud800", "$(1)", "'"],
    ids=["quote", "\\", "NUL", "lone", "$", "'"],
)
async def test_a_name_is_never_evaluated_in_r(r: ClientKernel, name: str) -> None:
    async with asyncio.timeout(PATIENCE):
        found = await r.variables((name, "x"), "r")
        await r.inspect(name, "r")
    assert [one.name for one in found.variables] == ["x"]
    assert len(found.missing) == 1
    assert (await r.execute('exists("taken")')).text.strip() == "[1] FALSE"


@has_r
async def test_a_thousand_r_variables_are_described_and_the_others_counted(r: ClientKernel) -> None:
    async with asyncio.timeout(PATIENCE):
        await r.execute("for (i in 1:1100) assign(paste0('zz', i), i)")
        found = await r.variables((), "r")
        await r.execute("rm(list = ls(pattern = '^zz'))")
    assert len(found.variables) == 1_000
    assert found.left_out > 100
    assert found.variables[-1].type == "integer"


@has_r
@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("f", "f (x, y = 2)\n\nSource:\nfunction(x, y = 2) {\n  # adds"),
        ("stats::median", "Median Value"),
        ("sum", "sum (..., na.rm = FALSE)\n\nSum of Vector Elements"),
        ("x", "1.5 2 3"),
    ],
)
async def test_r_is_asked_for_signature_documentation_and_source(r: ClientKernel, name: str, says: str) -> None:
    async with asyncio.timeout(PATIENCE):
        found = await r.inspect(name, "r")
    assert found.found
    assert says in found.text


@has_r
async def test_describing_variables_leaves_nothing_in_r(r: ClientKernel) -> None:
    async with asyncio.timeout(PATIENCE):
        before = (await r.execute("cat(ls(all.names = TRUE))")).text
        await r.variables((), "r")
        await r.inspect("f", "r")
        assert (await r.execute("cat(ls(all.names = TRUE))")).text == before


async def test_the_error_for_an_unsupported_language_says_what_to_do() -> None:
    with pytest.raises(
        ToolError, match=r"a rust kernel cannot be listed; those of Python, R and Julia can\. Use run_code"
    ):
        languages.build_variables_program("rust", ())


async def test_a_julia_program_contains_the_names_as_literals() -> None:
    program = languages.build_variables_program("julia", ("df", '$(rm("x"))', 'a"b'))
    assert r'variables(String["df", "\$(rm(\"x\"))", "a\"b"])' in program


async def test_an_invalid_answer_is_shown_in_the_error() -> None:
    nonsense: list[Any] = ["", "oops", "[]", "{}"]
    for text in nonsense:
        with pytest.raises(ToolError, match="variables cannot be read"):
            languages.parse_variables(text)
