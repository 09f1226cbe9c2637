"""Make the site: ``make docs``."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

from generator.checking import faults_of
from generator.staging import stage

DOCS = Path(__file__).parents[1]


def main() -> int:
    """Stage the pages, run Sphinx on them, check what it made; every warning is an error.

    The replays of the lessons are recorded meanwhile.
    """
    source, html = DOCS / "_build" / "source", DOCS / "_build" / "html"
    shutil.rmtree(html, ignore_errors=True)  # pages that are gone would stay
    stage(DOCS.parent, source)
    options = ["-W", "--keep-going", "--quiet", "--fresh-env", "-b", "html", "-c", str(DOCS)]
    folders = ["-d", str(DOCS / "_build" / "doctrees"), str(source), str(html)]
    replays = DOCS / "_build" / "replays"
    record = ["-m", "crawlsim", "explore", "--static", str(replays), "--force"]
    with subprocess.Popen([sys.executable, *record], stdout=subprocess.DEVNULL) as recording:
        code = subprocess.call([sys.executable, "-m", "sphinx", *options, *folders])
    code = code or recording.returncode
    if code == 0:
        shutil.copytree(replays, html / "replays", ignore=lambda *_: ["provenance.json"])
    (html / "_static" / "webpack-macros.html").unlink(missing_ok=True)  # the theme's, no page
    faults = list(faults_of(html))
    for fault in faults:
        print(fault, file=sys.stderr)
    if code == 0 and not faults:
        print(f"The documentation: {html / 'index.html'}")
    return code or bool(faults)


if __name__ == "__main__":
    sys.exit(main())
