"""The log of docs/examples: monthly visits of a made-up site, as a crawler would write them down.

Run as ``python -m experiments.example_log docs/examples/visits.csv.gz``.
"""

from __future__ import annotations

import gzip
import sys
from pathlib import Path

import numpy as np

from crawlsim.logs.read.log import ChangeLog
from experiments.change_histories import Site, made_up

_MONTH = 30 * 86400.0
_PAGES = 120
_YEARS = 6.0


def visits_of(history: ChangeLog, every: float) -> list[str]:
    """Rows ``url,time,digest`` of visits at equal gaps, from the creation of each page on."""
    end = float(history.time.max())
    rows = ["url,time,digest"]
    for page, name in enumerate(history.urls.tolist()):
        own = history.time[history.page == page]
        at = np.arange(own[0], end, every)
        for time, state in zip(at, np.searchsorted(own, at, "right").tolist(), strict=True):
            digest = f"{(page * 7919 + state) * 2654435761 % 2**40:010x}"
            rows.append(f"{name},{np.datetime64(int(time), 's')}Z,{digest}")
    return rows


def main() -> None:
    """Write the log."""
    rows = visits_of(made_up(Site(pages=_PAGES, years=_YEARS)), _MONTH)
    path = Path(sys.argv[1])
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(gzip.compress(("\n".join(rows) + "\n").encode(), mtime=0))


if __name__ == "__main__":
    main()
