"""`python -m search COMMAND …`: the command line of the search core; `COMMANDS` lists what there is."""

from __future__ import annotations

import sys

from search.commands import COMMANDS


def main(arguments: list[str]) -> int:
    """Run the named command; exit status 2 for an unknown one."""
    name = arguments[0] if arguments else ""
    if name not in COMMANDS:
        print(f"usage: python -m search {{{','.join(COMMANDS)}}} …", file=sys.stderr)
        return 0 if name in {"-h", "--help"} else 2
    return COMMANDS[name](arguments[1:])


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
