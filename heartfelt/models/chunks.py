"""Many texts through an encoder, a few at a time: what is computed of more does not stay in the processor's cache.

For a gradient, what was computed on the way may be computed again, chunk by chunk: a batch of 512 then takes the memory
of one chunk (gradient caching, Gao et al. 2021).
"""

from collections.abc import Callable

import torch
from torch import Tensor
from torch.nn import functional as F
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.utils.checkpoint import checkpoint

CHUNK = 32

Encoder = Callable[[Tensor, Tensor], Tensor]  # (texts, tokens) ids and mask → (texts, …), or of each token


def in_chunks(encode: Encoder, ids: Tensor, mask: Tensor, recompute: bool = False) -> Tensor:
    """Texts of like length together, so that little is padding; (texts, …), or (texts, tokens, …) as ids are."""
    lengths = mask.sum(1)
    order = lengths.argsort(descending=True, stable=True)
    parts = []
    learns = torch.is_grad_enabled()
    again = recompute and learns and len(ids) > CHUNK
    if learns and ids.device.type == "cpu":
        encode = attending_plainly(encode)
    for rows in order.split(CHUNK):
        longest = int(lengths[rows[0]])
        part = ids[rows, :longest], mask[rows, :longest]
        found = checkpoint(encode, *part, use_reentrant=False) if again else encode(*part)
        parts.append(F.pad(found, (0, 0, 0, ids.shape[1] - longest)) if found.ndim == 3 else found)
    return torch.cat(parts)[order.argsort()]


def attending_plainly(encode: Encoder) -> Encoder:
    """Without fused attention, whose gradient is slow for short texts on some CPUs (on others it is no matter)."""

    def plainly(ids: Tensor, mask: Tensor) -> Tensor:
        with sdpa_kernel(SDPBackend.MATH):
            return encode(ids, mask)

    return plainly
