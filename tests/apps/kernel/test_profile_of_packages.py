"""The profile of values of packages that the environment of the tests cannot have: AnnData needs an older pandas, and
torch is large. Each has an environment of its own, in which our package is not installed."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from jupyter_eca.workspace.kernels import profile

pytestmark = pytest.mark.nightly

PROGRAM = Path(__file__).with_name("describe_variables.py")
MODULES = Path(profile.__file__).parent
UV = Path(sys.executable).with_name("uv")


def make_environment(folder: Path) -> Path:
    """Return the Python of a new environment with pip."""
    subprocess.run([UV, "venv", "-q", "--seed", "--python", sys.executable, folder], check=True)
    return folder / "bin" / "python"


@pytest.fixture(scope="module")
def anndata(tmp_path_factory: pytest.TempPathFactory) -> Path:
    python = make_environment(tmp_path_factory.mktemp("anndata"))
    subprocess.run([UV, "pip", "install", "-q", "--python", python, "anndata"], check=True)
    return python


@pytest.fixture(scope="module")
def torch(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Only the build for the processor is installed, where pip can find it: others have several gigabytes."""
    python = make_environment(tmp_path_factory.mktemp("torch"))
    install = [python, "-m", "pip", "install", "-q", "torch==2.13.0+cpu", "numpy"]
    if subprocess.run(install, check=False, capture_output=True).returncode:
        pytest.skip("pip finds no torch for the processor only")
    return python


def describe(python: Path, source: str, *names: str) -> list[dict[str, Any]]:
    done = subprocess.run([python, PROGRAM, MODULES, *names], input=source, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)["variables"]


MATRICES = """
import anndata, numpy, pandas, scipy.sparse
values = numpy.arange(12.0).reshape(4, 3)
values[0, 0] = numpy.nan
kinds = pandas.DataFrame({"kind": ["B", "T", "T", "T"]}, index=list("abcd"))
dense = anndata.AnnData(values, obs=kinds, obsm={"X_pca": numpy.zeros((4, 2))}, layers={"counts": values})
sparse = anndata.AnnData(scipy.sparse.csr_matrix(numpy.diag(numpy.arange(1.0, 11.0))))
view = dense[dense.obs["kind"] == "T"]
"""


def test_a_dense_matrix_of_anndata_has_statistics_and_its_observations_have_a_line_for_each_column(
    anndata: Path,
) -> None:
    dense, view = describe(anndata, MATRICES, "dense", "view")
    assert (dense["type"], dense["shape"]) == ("anndata.AnnData", [4, 3])
    assert dense["profile"].splitlines() == [
        "X float64 (4 x 3), 8% NaN, 1..11, mean 6",
        "obs:",
        "kind object, 2 values: 'T' 75%, 'B' 25%",
        "row 1: 'B'",
        "row 2: 'T'",
        "row 3: 'T'",
        "var: no columns",
        "layers: counts",
        "obsm: X_pca",
    ]
    assert view["profile"].splitlines()[:3] == [
        "X float64 (3 x 3), 3..11, mean 7",
        "obs:",
        "kind object, constant 'T'",
    ]


def test_of_a_sparse_matrix_it_is_said_that_the_statistics_are_those_of_the_stored_values(anndata: Path) -> None:
    (sparse,) = describe(anndata, MATRICES, "sparse")
    assert sparse["profile"] == "X float64 (10 x 10), sparse, 10% are stored, of these: 1..10, mean 5.5"


TENSORS = """
import torch
plain = torch.arange(12.0).reshape(4, 3)
weights = torch.nn.Parameter(torch.full((2, 2), 0.5))
half = torch.tensor([1.5, float("nan")], dtype=torch.bfloat16)
sparse = torch.eye(3).to_sparse()
unallocated = torch.zeros(9, device="meta")
large = torch.tensor([0, 1]).repeat(50_000)
"""


def test_tensors_of_torch_have_statistics_where_they_are_in_memory(torch: Path) -> None:
    described = describe(torch, TENSORS, "plain", "weights", "half", "sparse", "unallocated", "large")
    *profiles, large = [one["profile"] for one in described]
    assert profiles == [
        "torch.float32 (4 x 3), 0..11, mean 5.5",
        "torch.float32 (2 x 2) requires_grad, constant 0.5",
        "torch.bfloat16 (2), 50% NaN, constant 1.5",
        "torch.float32 (3 x 3) torch.sparse_coo",
        "torch.float32 (9) on meta",
    ]
    assert large.startswith("torch.int64 (100000), 2 values: ")
