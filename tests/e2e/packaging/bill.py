"""`python -m tests.e2e.packaging.bill dist` writes the bill of materials of a wheel, in the format CycloneDX. It
fails when a package in it has a licence that is not permissive. Run by `make sbom` and by the release.

Two tools know the packages: `cyclonedx-py` lists those of an environment with the wheel and its dependencies, and the
bundlers list the packages of npm whose code is in the wheel (`third-party-licenses.json`).
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, cast
from urllib.parse import quote

from tests.e2e.packaging.check import install

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

TOOL: Final = "cyclonedx-bom==7.5.0"
VALIDATOR: Final = "cyclonedx-python-lib[json-validation]>=11"
_VALIDATE: Final = (
    "import sys; from cyclonedx.schema import SchemaVersion; "
    "from cyclonedx.validation.json import JsonStrictValidator; "
    "sys.exit(str(JsonStrictValidator(SchemaVersion.V1_6).validate_str(open(sys.argv[1]).read()) or '') or 0)"
)
_READ_LICENSES: Final = """
import importlib.metadata, json
found = ((each.metadata["Name"], each.metadata["License"]) for each in importlib.metadata.distributions())
print(json.dumps({name.casefold(): text.splitlines()[0] for name, text in found if text and text.strip()}))
"""

PERMISSIVE: Final = frozenset(
    {"0BSD", "Apache-2.0", "BSD-2-Clause", "BSD-3-Clause", "BSL-1.0", "CC0-1.0", "ISC", "MIT", "MIT-0", "MIT-CMU"}
    | {"PSF-2.0", "Python-2.0", "Unicode-3.0", "Unlicense", "Zlib", "ZPL-2.1"}
)
# How licences are named where no identifier of SPDX is used: by the classifiers of PyPI, and by hand.
OTHER_NAMES: Final = (
    (r"(?:The )?MIT(?: License)?", "MIT"),
    (r"(?:The )?Apache(?: Software)?(?: License)?,?(?: version)? ?2?(?:\.0)?", "Apache-2.0"),
    (r"(?:Modified |New |3-Clause )*BSD(?: 3-Clause| License|-3-Clause)*", "BSD-3-Clause"),
    (r"Python Software Foundation License|PSFL?", "PSF-2.0"),
    (r"ISC License(?: \(ISCL\))?", "ISC"),
)
# Dependencies whose licence is not permissive and that are fine all the same, each with its reason.
EXCEPTIONS: Final = {
    "certifi": "MPL-2.0: a list of certificates, installed unchanged and not part of the wheel",
    "fqdn": "MPL-2.0: a dependency of jupyter-server, installed unchanged and not part of the wheel",
    "pathspec": "MPL-2.0: installed unchanged and not part of the wheel",
}


def is_permissive(text: str) -> bool:
    """Whether a licence, given as an expression of SPDX, an identifier or a name, lets anybody use the code for
    anything."""
    text = text.strip()
    while text.startswith("(") and text.endswith(")") and "(" not in text[1:]:
        text = text[1:-1].strip()
    if " OR " in text:
        return any(map(is_permissive, text.split(" OR ")))
    if " AND " in text:
        return all(map(is_permissive, text.split(" AND ")))
    text = text.partition(" WITH ")[0].removeprefix("License :: OSI Approved :: ").removeprefix("License :: ")
    names = (spdx for pattern, spdx in OTHER_NAMES if re.fullmatch(pattern, text, re.IGNORECASE))
    return next(names, text) in PERMISSIVE


def read_licenses(component: dict[str, Any]) -> list[str]:
    """The licences of a component of a bill: expressions, identifiers or names. Its author's expression counts most."""
    found: list[dict[str, Any]] = component.get("licenses", [])
    expressions = [item["expression"] for item in found if "expression" in item]
    named = [item["license"].get("id") or item["license"].get("name", "") for item in found if "license" in item]
    identified = [item["license"]["id"] for item in found if "id" in item.get("license", {})]
    return expressions or identified or named


def find_refused(components: Iterable[dict[str, Any]]) -> Iterator[str]:
    """Yield the components whose licence is not permissive or not known, with what it says. A package of Python that
    lists several licences has parts under each, so all of them count."""
    for component in components:
        licenses = read_licenses(component)
        if component["name"] not in EXCEPTIONS and not (licenses and all(map(is_permissive, licenses))):
            yield f"{component['name']} {component.get('version', '')}: {', '.join(licenses) or 'no licence'}"


def list_bundled(wheel: Path) -> list[dict[str, Any]]:
    """The packages of npm whose code is in the wheel, as components of a bill."""
    packages: dict[tuple[str, str], str] = {}
    with zipfile.ZipFile(wheel) as opened:
        for name in opened.namelist():
            if name.endswith("/third-party-licenses.json"):
                for package in json.loads(opened.read(name))["packages"]:
                    packages[package["name"], package["versionInfo"]] = package["licenseId"]
    return [_make_component(name, version, license) for (name, version), license in sorted(packages.items())]


def _make_component(name: str, version: str, license: str) -> dict[str, Any]:
    url = f"pkg:npm/{quote(name, safe='/')}@{version}"
    named = {"expression": license} if " " in license else {"license": {"id": license}}
    component = {"type": "library", "bom-ref": url, "name": name, "version": version, "purl": url}
    return {**component, "licenses": [named] if license else [], "description": "Its code is in the wheel."}


def make_bill(wheel: Path) -> dict[str, Any]:
    """The bill of a wheel: itself, what its installation brings, and what was bundled into it."""
    with tempfile.TemporaryDirectory() as temporary:
        programs, file = install(wheel, Path(temporary)), Path(temporary) / "bill.json"
        uv = Path(sys.executable).with_name("uv")
        tool = [uv, "tool", "run", "--from", TOOL, "cyclonedx-py", "environment", "--output-reproducible"]
        subprocess.run([*tool, "--of", "JSON", "--sv", "1.6", "-o", file, programs / "python"], check=True)
        bill = cast("dict[str, Any]", json.loads(file.read_text()))
        read = subprocess.run([programs / "python", "-c", _READ_LICENSES], capture_output=True, text=True, check=True)
        written: dict[str, str] = json.loads(read.stdout)
    for component in bill["components"]:
        # The tool leaves out a licence that is written as free text.
        if not component.get("licenses") and (text := written.get(component["name"].casefold())):
            component["licenses"] = [{"license": {"name": text, "acknowledgement": "declared"}}]
    ours = next(item for item in bill["components"] if item["name"] == "jupyter-eca")
    ours.pop("externalReferences", None)  # the path of the wheel on this machine
    ours["purl"] = f"pkg:pypi/jupyter-eca@{ours['version']}"
    bundled = list_bundled(wheel)
    bill["metadata"]["component"] = ours
    bill["components"] = [*(item for item in bill["components"] if item is not ours), *bundled]
    for dependency in bill["dependencies"]:
        if dependency["ref"] == ours["bom-ref"]:
            dependency["dependsOn"] = sorted({*dependency.get("dependsOn", ()), *(item["bom-ref"] for item in bundled)})
    bill["dependencies"] += [{"ref": item["bom-ref"]} for item in bundled]
    return bill


def main(folder: Path) -> None:
    """Write the bill beside the wheel. Raises: SystemExit when a licence is not permissive."""
    [wheel] = folder.glob("*.whl")
    bill = make_bill(wheel)
    file = folder / f"{wheel.name.split('-py3')[0]}.cdx.json"
    file.write_text(json.dumps(bill, indent=2, sort_keys=True) + "\n")
    uv = Path(sys.executable).with_name("uv")
    check = [uv, "run", "-q", "--no-project", "--with", VALIDATOR, "python", "-c", _VALIDATE, file]
    subprocess.run(check, check=True)
    if refused := list(find_refused(bill["components"])):
        raise SystemExit("These licences are not permissive:\n" + "\n".join(f"  {line}" for line in refused))
    sys.stdout.write(f"{file.name} lists {len(bill['components'])} packages, all with a permissive licence.\n")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
