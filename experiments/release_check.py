"""Whether a release can be made of what is committed: it is built, read, installed and used.

    python -m experiments.release_check [--tests]

Wheel and sdist are built twice, from two clones, and have to be the same byte by byte. The sdist
holds what a reader of the repository finds, the page of the package has no link that leads nowhere,
CITATION.cff is valid, and the sdist alone is installed twice, with the newest versions of what it
needs and with the oldest that it allows (`constraints-oldest.txt`); both have to check a scenario.
With --tests the unpacked sdist runs the tests of `make test` too.
"""

from __future__ import annotations

import argparse
import hashlib
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import tomllib
import venv
import zipfile
from collections.abc import Iterator, Mapping
from importlib.metadata import version
from pathlib import Path

ROOT = Path(__file__).parents[1]
PACKAGES = {"analytic", "crawlsim", "papers", "scenarios", "sim"}
READ = (
    "docs/verdicts.md",
    "tests/conftest.py",
    "notebooks/README.md",
    "CHANGELOG.md",
    "CITATION.cff",
)
"""What has to be in an sdist, among others."""

_RELATIVE = re.compile(r"\]\((?!https?:|#)")


class ReleaseError(Exception):
    """What has to be mended before a release."""


def main() -> None:
    """Say what holds, line by line, and end with 1 where something does not."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--tests", action="store_true", help="run the tests from the sdist, too")
    asked = parser.parse_args()
    try:
        with tempfile.TemporaryDirectory() as folder:
            for said in checked(Path(folder), tests=asked.tests):
                print(said, flush=True)
    except (ReleaseError, subprocess.CalledProcessError) as failure:
        sys.exit(f"not ready: {failure}")


def checked(folder: Path, *, tests: bool) -> Iterator[str]:
    """What holds, in words.

    Raises
    ------
    ReleaseError, subprocess.CalledProcessError
        Where something does not.
    """
    first, second = (built(folder / name) for name in ("first", "second"))
    if first != second:
        names = [name for name in first if first[name] != second.get(name)]
        raise ReleaseError(f"built twice, and not the same: {', '.join(names)}")
    yield f"built twice, byte for byte the same: {', '.join(sorted(first))}"
    made = folder / "first" / "dist"
    (wheel,), (sdist,) = made.glob("*.whl"), made.glob("*.tar.gz")
    yield of_contents(wheel, sdist)
    run(sys.executable, "-m", "twine", "check", "--strict", str(wheel), str(sdist))
    program = str(Path(sys.executable).with_name("cffconvert"))
    run(program, "--validate", "-i", str(ROOT / "CITATION.cff"))
    yield of_versions(wheel)
    for name, constraints in (("newest", None), ("oldest", ROOT / "constraints-oldest.txt")):
        yield f"{name} versions: {installed(folder / name, sdist, constraints)}"
    if tests:
        yield tested(folder / "tests", sdist)


def run(*command: str, cwd: Path | None = None) -> str:
    """What a command prints; its complaints are shown where it fails."""
    done = subprocess.run(command, cwd=cwd, capture_output=True, text=True, check=False)
    if done.returncode:
        print(done.stdout[-3000:], done.stderr[-3000:], file=sys.stderr)
    done.check_returncode()
    return done.stdout


def built(folder: Path) -> Mapping[str, str]:
    """The digests of wheel and sdist, built from a clone of what is committed."""
    clone = folder / "clone"
    run("git", "clone", "--quiet", str(ROOT), str(clone))
    run(sys.executable, "-m", "build", "--outdir", str(folder / "dist"), str(clone))
    files = (folder / "dist").iterdir()
    return {each.name: hashlib.sha256(each.read_bytes()).hexdigest() for each in files}


def of_contents(wheel: Path, sdist: Path) -> str:
    """Whether each of them holds what it should, and no link of its page leads nowhere."""
    with zipfile.ZipFile(wheel) as opened:
        names = opened.namelist()
        (described,) = (name for name in names if name.endswith(".dist-info/METADATA"))
        page = opened.read(described).decode()
    outside = {name.partition("/")[0] for name in names} - PACKAGES
    if outside != {described.partition("/")[0]}:
        raise ReleaseError(f"the wheel holds {', '.join(sorted(outside))}")
    if found := _RELATIVE.search(page):
        raise ReleaseError(f"a link of the page leads nowhere: {page[found.start() - 60 :][:120]}")
    with tarfile.open(sdist) as archive:
        inside = {name.partition("/")[2] for name in archive.getnames()}
    if missing := [each for each in READ if each not in inside]:
        raise ReleaseError(f"the sdist lacks {', '.join(missing)}")
    return f"{len(names)} files in the wheel, {len(inside)} in the sdist; the page has whole links"


def of_versions(wheel: Path) -> str:
    """Whether package, citation and changelog speak of one version."""
    release = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["version"]
    cited = re.search(r"^version: (\S+)$", (ROOT / "CITATION.cff").read_text("utf-8"), re.M)
    changed = re.search(r"^## (\S+)", (ROOT / "CHANGELOG.md").read_text("utf-8"), re.M)
    said = {release, *(each[1] for each in (cited, changed) if each), wheel.name.split("-")[1]}
    if said != {release} or cited is None or changed is None:
        raise ReleaseError(f"not one version: {', '.join(sorted(said))}")
    return f"one version everywhere: {release}"


def installed(folder: Path, sdist: Path, constraints: Path | None) -> str:
    """What a scenario says where nothing but the sdist is installed."""
    venv.create(folder, with_pip=True, clear=True)
    within = [] if constraints is None else ["--constraint", str(constraints)]
    run(str(folder / "bin/pip"), "install", "--quiet", *within, str(sdist))
    verdict = run(str(folder / "bin/crawlsim"), "check", "one-robot", cwd=folder).splitlines()[0]
    if not verdict.endswith(": agrees"):
        raise ReleaseError(verdict)
    return f"{verdict}; {run(str(folder / 'bin/crawlsim'), '--version').splitlines()[-1]}"


def tested(folder: Path, sdist: Path) -> str:
    """The last line of the tests of `make test`, run in the unpacked sdist."""
    shutil.unpack_archive(sdist, folder)
    (unpacked,) = folder.iterdir()
    return run("make", "suite", cwd=unpacked).strip().splitlines()[-1]


if __name__ == "__main__":
    print(f"build {version('build')}, twine {version('twine')}", flush=True)
    main()
