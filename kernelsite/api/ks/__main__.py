"""`ks COMMAND …`: see `ks --help`."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from kernelsite.api.client import ApiError, CredentialsError, UnreachableError
from kernelsite.api.ks.parser import parser
from kernelsite.api.ks.words import UsageError

if TYPE_CHECKING:
    from collections.abc import Sequence

USAGE, REFUSED, UNREACHABLE, INTERRUPTED = 2, 3, 4, 130
"""Exit statuses; 0 is done, 1 is a search without a result."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; the exit status."""
    options = parser().parse_args(arguments)
    try:
        status: int = options.run(options)
        return status
    except UsageError as error:
        return _end(str(error), USAGE)
    except (ApiError, CredentialsError) as error:
        return _end(str(error), REFUSED)
    except UnreachableError as error:
        return _end(str(error), UNREACHABLE)
    except KeyboardInterrupt:
        return INTERRUPTED
    except BrokenPipeError:  # `ks watch S-1 | head`
        sys.stderr.close()
        return 0


def _end(message: str, status: int) -> int:
    print(f"ks: {message}", file=sys.stderr)
    return status


if __name__ == "__main__":
    sys.exit(main())
