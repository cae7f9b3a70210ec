"""Who writes candidates. An agent answers one `Draft` with one `Proposal`; `AGENTS` lists them all."""
