"""The browser of the tests; on Debian: apt install chromium chromium-driver."""

import shutil

CHROMIUM = shutil.which("chromium") or shutil.which("google-chrome")
DRIVER = shutil.which("chromedriver")
