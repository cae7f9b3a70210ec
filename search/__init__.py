"""The search engine: structures first, then knobs. Pure Python: no web, no queue, no GPU library."""
