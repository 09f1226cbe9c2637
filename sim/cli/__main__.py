"""``python -m sim.cli`` is the command `crawlsim`."""

from sim.cli import main

if __name__ == "__main__":
    main()
