"""Diverse beam search (Vijayakumar et al. 2016), which rashkin2019 decodes with and transformers no longer has.

Beams are parted into groups. At each step the groups choose one after the other, each by

    log-likelihood so far + log p(token) − diversity · (how often earlier groups chose this token at this step)

so that groups begin to differ early. It is handed to `generate(custom_generate=diverse_beams, num_beams=…)`.
"""

from typing import Any, NamedTuple

import torch
from torch import Tensor

_NONE = -1e9  # the log-likelihood of a beam that does not exist yet


class _Ended(NamedTuple):
    score: float  # log-likelihood a token
    ids: Tensor


@torch.no_grad()
def diverse_beams(
    model: Any,
    input_ids: Tensor,
    logits_processor: Any,
    stopping_criteria: Any,
    generation_config: Any,
    groups: int = 1,
    diversity: float = 0.5,
    **others: Any,
) -> Tensor:
    """(batch × beams, 1) first tokens → (batch × num_return_sequences, tokens), the likeliest first, padded right."""
    beams, wanted = generation_config.num_beams, generation_config.num_return_sequences
    batch, each = len(input_ids) // beams, beams // groups
    end, pad = int(generation_config.eos_token_id), int(generation_config.pad_token_id)
    scores = torch.full((batch, groups, each), _NONE, device=input_ids.device)
    scores[:, :, 0] = 0.0  # all beams of a group begin alike: one is enough
    ended: list[list[list[_Ended]]] = [[[] for _ in range(groups)] for _ in range(batch)]
    ids, longest = input_ids, int(generation_config.max_length)
    while ids.shape[1] < longest:
        likely, others = _next(model, ids, others)
        likely = logits_processor(ids, likely).view(batch, groups, each, -1)
        chosen = torch.zeros((batch, likely.shape[-1]), device=ids.device)
        parents, tokens = (
            torch.empty_like(scores, dtype=torch.long),
            torch.empty_like(scores, dtype=torch.long),
        )
        for group in range(groups):
            found = scores[:, group, :, None] + likely[:, group]  # (batch, each, words)
            fit = (found - diversity * chosen[:, None]).flatten(1)
            # Of twice as many at least half do not end.
            best = fit.topk(min(2 * each, fit.shape[1])).indices
            beam, token = best // likely.shape[-1], best % likely.shape[-1]
            score = found.flatten(1).gather(1, best)
            for row in range(batch):
                kept = 0
                for place in range(best.shape[1]):
                    if kept == each:
                        break
                    number = (row * groups + group) * each + int(beam[row, place])
                    if int(token[row, place]) == end:
                        if place < each:
                            whole = torch.cat([ids[number], token[row, place : place + 1]])
                            length = len(whole) - input_ids.shape[1]
                            ended[row][group].append(_Ended(float(score[row, place]) / length, whole))
                            chosen[row, end] += 1
                        continue
                    parents[row, group, kept], tokens[row, group, kept] = number, token[row, place]
                    scores[row, group, kept] = score[row, place]
                    kept += 1
            chosen.scatter_add_(1, tokens[:, group], torch.ones_like(scores[:, group]))
        order = parents.flatten()
        ids = torch.cat([ids[order], tokens.view(-1, 1)], 1)
        if others.get("past_key_values") is not None:
            others["past_key_values"].reorder_cache(order)
        length = ids.shape[1] - input_ids.shape[1]
        if all(
            _closed(ended[row][group], each, float(scores[row, group].max()) / length)
            for row in range(batch)
            for group in range(groups)
        ):
            break
    _end_all(ended, ids, scores, input_ids.shape[1])
    return _padded([one.ids for row in ended for one in _first(row, wanted)], pad)


def _next(model: Any, ids: Tensor, others: dict[str, Any]) -> tuple[Tensor, dict[str, Any]]:
    """(beams, words) log-likelihoods of the next token, and what the model keeps for the one after it."""
    past = others.get("past_key_values")
    only_last = 1 if past is not None and past.get_seq_length() else None
    asked = model.prepare_inputs_for_generation(ids, next_sequence_length=only_last, **others)
    said = model(**asked, return_dict=True)
    others = model._update_model_kwargs_for_generation(
        said, others, is_encoder_decoder=model.config.is_encoder_decoder
    )
    return said.logits[:, -1].float().log_softmax(-1), others


def _closed(ended: list[_Ended], each: int, best: float) -> bool:
    """Has a group ended as many as it has beams, all of them better than what it still has?"""
    ended.sort(key=lambda one: -one.score)
    del ended[each:]
    return len(ended) == each and ended[-1].score >= best


def _end_all(ended: list[list[list[_Ended]]], ids: Tensor, scores: Tensor, begun: int) -> None:
    """What has not ended counts as far as it came."""
    length = max(1, ids.shape[1] - begun)
    open_beams = ids.view(*scores.shape, -1)
    for row, groups in enumerate(ended):
        for group, found in enumerate(groups):
            for score, one in zip(scores[row, group].tolist(), open_beams[row, group], strict=True):
                if score > _NONE / 2:
                    found.append(_Ended(score / length, one))


def _first(groups: list[list[_Ended]], wanted: int) -> list[_Ended]:
    """The best of each group, the likeliest first; then the others."""
    ranked = [sorted(found, key=lambda one: -one.score) for found in groups]
    best = sorted((found[0] for found in ranked), key=lambda one: -one.score)
    rest = sorted((one for found in ranked for one in found[1:]), key=lambda one: -one.score)
    chosen = [*best, *rest][:wanted]
    return chosen + [chosen[-1]] * (wanted - len(chosen))


def _padded(rows: list[Tensor], pad: int) -> Tensor:
    return torch.nn.utils.rnn.pad_sequence(rows, batch_first=True, padding_value=pad)
