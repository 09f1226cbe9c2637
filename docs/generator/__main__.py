"""Make the site: ``make docs``."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from generator.staging import stage

DOCS = Path(__file__).parents[1]


def main() -> int:
    """Stage the pages and run Sphinx on them; every warning is an error."""
    source = DOCS / "_build" / "source"
    stage(DOCS.parent, source)
    options = ["-W", "--keep-going", "--quiet", "-b", "html", "-c", str(DOCS)]
    folders = ["-d", str(DOCS / "_build" / "doctrees"), str(source), str(DOCS / "_build" / "html")]
    code = subprocess.call([sys.executable, "-m", "sphinx", *options, *folders])
    if code == 0:
        print(f"The documentation: {DOCS / '_build' / 'html' / 'index.html'}")
    return code


if __name__ == "__main__":
    sys.exit(main())
