"""Who is asked for what: one file per role with the parts of its prompt and the reading of its answer.

Ranks of parts, over all roles: 0 is needed; 1 to 3 is what the task turns on (evidence, actions); 4 to 6 helps;
7 and more gives way first.
"""

from __future__ import annotations
