"""A language model as the agent, over any OpenAI-compatible endpoint.

The way of one call:

1. a role builds a `ModelRequest` (`outcomes.py`) and gives it to a `Caller`;
2. `calling.py` picks one of the search's models (`choice.py`), waits for its turn (`limits.py`), and reserves the
   call's ceiling, counted by `tokens.py`, at the `Meter` (`ledger.py` is the one in memory; the site has one over
   its database);
3. `client.py`, the only file that knows the SDK, sends it to the `Endpoint` through `transport.py` (deadline,
   size, checked address: `addresses.py`), and reads the answer with `wire.py` and `faults.py`: every fault is a
   `CallOutcome`, none an exception;
4. the reservation is settled, the attempt is stored in the `Transcript` (`transcript.py`: JSON lines), and a fault
   that may pass is tried again within the deadline and the budget.

`replay.py` is a caller that answers from a transcript and needs no network.
"""
