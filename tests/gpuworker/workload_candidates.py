"""For each shipped GPU workload a right program, written another way than its reference, and how to break it."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Program:
    """Source in torch, and a replacement that makes it wrong."""

    source: str
    right: str
    wrong: str

    @property
    def broken(self) -> str:
        """The same program with its mistake."""
        assert self.source.count(self.right) == 1
        return self.source.replace(self.right, self.wrong)


_HEAD = "import math\nimport torch\n\n\n"

_SOFTMAX = """def run(x, y):
    wide = x.float()
    powers = (wide - wide.amax(-1, keepdim=True)).exp()
    y.copy_(powers / powers.sum(-1, keepdim=True))
"""

_RMSNORM = """def run(x, weight, y):
    wide = x.float()
    square = wide.square().sum(-1, keepdim=True) / x.shape[1]
    y.copy_(wide / (square + 1e-6).sqrt() * weight.float())
"""

_LAYERNORM = """def run(x, weight, bias, y):
    wide = x.float()
    centred = wide - wide.mean(-1, keepdim=True)
    variance = centred.square().mean(-1, keepdim=True)
    y.copy_(centred / (variance + 1e-5).sqrt() * weight.float() + bias.float())
"""

_CROSS_ENTROPY = """def run(logits, target, loss):
    wide = logits.float()
    loss.copy_(wide.logsumexp(-1) - wide.gather(1, target[:, None])[:, 0])
"""

_ADD_RMSNORM = """def run(x, residual, weight, y, total):
    total.copy_(x + residual)
    wide = x.float() + residual.float()
    y.copy_(wide / (wide.square().mean(-1, keepdim=True) + 1e-6).sqrt() * weight.float())
"""

_GEMM = """def run(a, b, c):
    c.copy_(a.float() @ b.float())
"""

_PAGED_DECODE = """def run(q, k_cache, v_cache, kv_indptr, kv_indices, kv_last_page_len, sm_scale, output, lse):
    heads = q.shape[1] // k_cache.shape[2]
    for b in range(q.shape[0]):
        first, last = int(kv_indptr[b]), int(kv_indptr[b + 1])
        if first == last:
            output[b], lse[b] = 0.0, -math.inf
            continue
        pages = kv_indices[first:last].long()
        tokens = 16 * (last - first - 1) + int(kv_last_page_len[b])
        k = k_cache[pages].flatten(0, 1)[:tokens].float().repeat_interleave(heads, 1)
        v = v_cache[pages].flatten(0, 1)[:tokens].float().repeat_interleave(heads, 1)
        scores = torch.einsum("hd,thd->ht", q[b].float(), k) * sm_scale
        lse[b] = scores.logsumexp(-1) / math.log(2)
        output[b] = torch.einsum("ht,thd->hd", scores.softmax(-1), v)
"""

_TOP_K = """def run(x, k, values, indices):
    found, places = x.flip(-1).sort(dim=-1, descending=True, stable=True)
    values.copy_(found[:, :k])
    indices.copy_(x.shape[1] - 1 - places[:, :k])
"""

_ARGMAX = """def run(x, index):
    columns = torch.arange(x.shape[1])
    index.copy_(torch.where(x == x.amax(-1, keepdim=True), columns, x.shape[1]).amin(-1))
"""

_CUMSUM = """def run(x, y):
    total = torch.zeros(x.shape[0])
    for start in range(0, x.shape[1], 512):
        part = x[:, start : start + 512].cumsum(-1) + total[:, None]
        y[:, start : start + 512] = part
        total = part[:, -1]
"""

_STENCIL = """def run(x, y):
    padded = torch.nn.functional.pad(x, (3, 3, 3, 3))
    rows = sum(padded[i : i + x.shape[0]] for i in range(7))
    y.copy_(sum(rows[:, j : j + x.shape[1]] for j in range(7)) / 49)
"""

_TRIMUL = """def run(x, mask, norm_weight, norm_bias, left_proj, right_proj, left_gate, right_gate, out_gate,
        out_norm_weight, out_norm_bias, to_out, out):
    def norm(v, weight, bias):
        v = v - v.mean(-1, keepdim=True)
        return v / (v.square().mean(-1, keepdim=True) + 1e-5).sqrt() * weight + bias

    x = norm(x, norm_weight, norm_bias)
    left = (x @ left_proj.T) * (x @ left_gate.T).sigmoid() * mask[..., None]
    right = (x @ right_proj.T) * (x @ right_gate.T).sigmoid() * mask[..., None]
    product = left.permute(0, 3, 1, 2) @ right.permute(0, 3, 2, 1)
    product = norm(product.permute(0, 2, 3, 1), out_norm_weight, out_norm_bias)
    out.copy_((product * (x @ out_gate.T).sigmoid()) @ to_out.T)
"""

PROGRAMS = {
    "softmax_fp16": Program(_SOFTMAX, "wide = x.float()", "wide = x.float() * 1.01"),
    "rmsnorm_bf16": Program(_RMSNORM, "1e-6", "1e-4"),
    "layernorm": Program(_LAYERNORM, ".square().mean(", ".square().sum("),
    "cross_entropy": Program(
        _CROSS_ENTROPY, "wide = logits.float()", "wide = logits.float().half().float() * 1.001"
    ),
    "add_rmsnorm": Program(_ADD_RMSNORM, "total.copy_(x + residual)", "total.copy_(x)"),
    "gemm_fp16": Program(_GEMM, "a.float() @ b.float()", "a[:, :64].float() @ b[:64].float()"),
    "gemm_bf16": Program(_GEMM, "a.float() @ b.float()", "(a.float() @ b.float()) * 1.01"),
    "gqa_paged_decode": Program(_PAGED_DECODE, "0.0, -math.inf", "0.0, -1e30"),
    "top_k": Program(_TOP_K, "x.shape[1] - 1 - places", "places"),
    "argmax": Program(_ARGMAX, "x.shape[1]).amin(-1)", "-1).amax(-1)"),
    "cumsum": Program(_CUMSUM, "total = part[:, -1]", "total = part[:, -1].half().float()"),
    "box_stencil_2d": Program(_STENCIL, "/ 49", "/ 48"),
    "trimul": Program(_TRIMUL, "right.permute(0, 3, 2, 1)", "right.permute(0, 3, 1, 2)"),
}
PROGRAMS = {slug: Program(_HEAD + one.source, one.right, one.wrong) for slug, one in PROGRAMS.items()}
