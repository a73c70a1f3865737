"""A recurrent decoder with Luong attention and input feeding (Luong et al. 2015), for the models that have one.

h_t = cell([y_{t-1}; h̃_{t-1}], h_{t-1})          input feeding: what was attended to is read with the next word
α_t = softmax_i(h_iᵀ W h_t)                        over the context's states h_i
c_t = Σ_i α_{t,i} h_i
h̃_t = tanh(W_c [h_t; c_t])
"""

from typing import Literal

import torch
from torch import Tensor, nn

Cell = Literal["gru", "lstm"]


class LuongDecoder(nn.Module):
    def __init__(self, cell: Cell, embedding: int, size: int, seen: int, dropout: float) -> None:
        """seen: the size of the context's states."""
        super().__init__()
        self.size, self.dropout = size, nn.Dropout(dropout)
        self.cell = {"gru": nn.GRUCell, "lstm": nn.LSTMCell}[cell](embedding + size, size)
        self.score = nn.Linear(size, seen, bias=False)
        self.combine = nn.Linear(size + seen, size, bias=False)

    def forward(self, words: Tensor, start: Tensor, states: Tensor, mask: Tensor) -> Tensor:
        """(batch, tokens, embedding) words, (batch, size) start, (batch, seen tokens, seen) → (batch, tokens, size)"""
        hidden: Tensor | tuple[Tensor, Tensor] = start
        if isinstance(self.cell, nn.LSTMCell):
            hidden = (start, torch.zeros_like(start))
        fed, found = torch.zeros_like(start), []
        for word in words.unbind(1):
            hidden = self.cell(torch.cat([word, fed], -1), hidden)
            state = hidden[0] if isinstance(hidden, tuple) else hidden
            context = attend(states, mask, self.score(state))
            fed = torch.tanh(self.combine(torch.cat([state, context], -1)))
            fed = self.dropout(fed)
            found.append(fed)
        return torch.stack(found, 1)


def attend(states: Tensor, mask: Tensor, query: Tensor) -> Tensor:
    """(batch, tokens, size) states weighted by their fit to a (batch, size) query → (batch, size)"""
    fit = torch.einsum("bts,bs->bt", states, query).masked_fill(mask == 0, float("-inf"))
    return torch.einsum("bt,bts->bs", torch.softmax(fit, -1), states)
