"""The playbook: an agent that needs no model, because it knows how to write every structure of its families.

1. `agent.py` answers drafts: it chooses a move, composes the blueprint and has it written.
2. `moves.py` lists moves from one structure to others; `priors.py` says which an expert would try first.
3. `writers.py` finds the function that writes a family in a language; `family.py` says what that expects.
4. `cpp_softmax.py`, `cpp_rmsnorm.py`, `cpp_gemm.py` write C++, from the pieces in `cpp.py`, `cpp_rows.py`, `cpp_tiles.py`.
5. Triton: `triton_softmax.py`, `triton_rmsnorm.py`, `triton_layernorm.py`, `triton_add_rmsnorm.py` and
   `triton_cross_entropy.py` from the pieces in `triton_rows.py`; `triton_gemm.py` with `triton_stream_k.py`;
   `triton_paged_decode.py` with `decode_tensors.py`; `triton_stencil.py`. All use `triton.py` and `text.py`.
"""

from __future__ import annotations
