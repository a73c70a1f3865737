"""`python -m heartfelt` is the `heartfelt` command."""

from heartfelt.cli import main

main()
