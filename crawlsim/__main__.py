"""``python -m crawlsim`` is the command `crawlsim`."""

from crawlsim.cli import main

if __name__ == "__main__":
    main()
