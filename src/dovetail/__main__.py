"""`python -m dovetail` is the command `dovetail`."""

from dovetail.cli.main import run

if __name__ == "__main__":
    run()
