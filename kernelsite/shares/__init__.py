"""Share links: results for people without an account.

1. `views.new` shows who shares what the guest would see; `kinds/` reads one thing of a team into a `Result`.
2. `document.py` is the list of everything that can become public; guests see a `Result` and never a row.
3. A frozen link keeps its `Result` as JSON; a live one builds it anew, and its page asks every 15 s.
4. `guests.py` answers `/p/<token>/`: rate limit, look-up by hash, sealed headers, one 404 for every reason.
5. `plots.py` lays figures out, `canvas/` writes them as SVG, PNG and PDF.
"""

from __future__ import annotations
