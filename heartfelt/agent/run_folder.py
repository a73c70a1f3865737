"""A finished run of a listener model writes the replies, in torch. Those who ask at once are answered together."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from threading import Lock
from typing import Any

from heartfelt.agent.generator import SAMPLING, Decoding, Wish, refuse_what_it_cannot, shortened
from heartfelt.dialogue import Candidate, Dialogue
from heartfelt.errors import InvalidValue, MissingData, need
from heartfelt.models import MODELS, module_of
from heartfelt.models.prompt import END, prompt
from heartfelt.recipe import load as load_recipe

_WINDOW = 2_000  # bytes of a talk
_TOGETHER = 32  # prompts in one batch


@dataclass(eq=False)
class _Asked:
    prompt: str
    count: int
    decoding: Decoding
    said: list[Candidate] = field(default_factory=list)

    @property
    def way(self) -> tuple[int, Decoding]:
        return self.count, self.decoding


class RunFolder:
    languages = ("en",)

    def __init__(self, folder: Path) -> None:
        self._torch = need("torch", "train", "A run folder")
        need("transformers", "train", "A run folder")
        if not (folder / "model").is_dir():
            raise MissingData(f"{folder} is not a finished run: heartfelt runs list shows those that are")
        recipe = load_recipe(folder / "recipe.yaml")
        module = module_of(recipe.model) if recipe.model in MODELS else None
        if module is None or not hasattr(module, "speaking"):
            raise InvalidValue(f"{folder} ({recipe.model}) does not write replies: take a run of listener_lm")
        self.name = folder.name
        self._one_at_a_time, self._list = Lock(), Lock()
        self._waiting: list[_Asked] = []
        from heartfelt.models.backbone import saved_tokenizer

        self._tokenizer: Any = saved_tokenizer(folder / "model", padding_side="left")
        self._model = module.speaking(module.load(folder / "model"))
        self._end = self._tokenizer.convert_tokens_to_ids(END)

    def say(self, dialogue: Dialogue, wish: Wish, count: int, decoding: Decoding) -> list[Candidate]:
        refuse_what_it_cannot(f"{self.name} (listener_lm)", SAMPLING, decoding)
        asked = _Asked(self._prompt(dialogue, wish), count, decoding)
        with self._list:
            self._waiting.append(asked)
        with self._one_at_a_time:  # who comes next answers all that came meanwhile
            if not asked.said:
                self._answer(self._like(asked))
        return asked.said

    def stream(self, dialogue: Dialogue, wish: Wish, heard: Callable[[str], None], decoding: Decoding) -> str:
        pieces: list[str] = []
        tokenizer = self._tokenizer

        class Streamer:
            """What transformers hands tokens to, the prompt first."""

            ids: list[int] | None = None

            def put(self, tokens: Any) -> None:
                if self.ids is None:
                    self.ids = []
                    return
                self.ids += tokens.flatten().tolist()
                text = tokenizer.decode(self.ids, skip_special_tokens=True)
                grown = text[len("".join(pieces)) :]
                if grown and not grown.endswith("\N{REPLACEMENT CHARACTER}"):  # half of a character
                    pieces.append(grown)
                    heard(grown)

            def end(self) -> None: ...

        with self._one_at_a_time:
            self._generate([self._prompt(dialogue, wish)], decoding, 1, streamer=Streamer())
        return "".join(pieces).strip()

    def _prompt(self, dialogue: Dialogue, wish: Wish) -> str:
        return prompt(shortened(dialogue, _WINDOW), wish.emotion, wish.plan)

    def _like(self, asked: _Asked) -> list[_Asked]:
        """It, and who else waits for replies chosen in the same way. With a seed each is answered alone: it then says
        the same whoever else asks."""
        with self._list:
            alike = [one for one in self._waiting if one is not asked and one.way == asked.way]
            chosen = [asked, *(alike[: _TOGETHER - 1] if asked.decoding.seed is None else ())]
            self._waiting = [one for one in self._waiting if one not in chosen]
        return chosen

    def _answer(self, together: Sequence[_Asked]) -> None:
        first = together[0]
        found = self._generate([one.prompt for one in together], first.decoding, first.count)
        written = found.sequences[:, -len(found.logits) :]
        chosen = zip(found.logits, written.T, strict=True)  # token by token
        logprobs_of = [
            logits.gather(1, tokens[:, None])[:, 0] - logits.logsumexp(-1) for logits, tokens in chosen
        ]
        said = []
        for row, logprobs in zip(written, self._torch.stack(logprobs_of, 1), strict=True):
            ended = (row == self._end).nonzero()
            length = int(ended[0]) + 1 if len(ended) else len(row)
            text = self._tokenizer.decode(row[:length], skip_special_tokens=True).strip()
            said.append(Candidate(text, {"likelihood": float(logprobs[:length].mean())}))
        each = len(said) // len(together)
        for place, one in enumerate(together):
            one.said = said[place * each : (place + 1) * each]

    def _generate(self, prompts: Sequence[str], decoding: Decoding, count: int, **others: Any) -> Any:
        asked = self._tokenizer(list(prompts), add_special_tokens=False, return_tensors="pt", padding=True)
        chosen = as_transformers(decoding, count)
        each = chosen.pop("num_return_sequences")
        with self._torch.no_grad():
            if decoding.seed is not None:
                self._torch.manual_seed(decoding.seed)  # the whole process's
            return self._model.generate(
                **self._read_once(asked, each), **chosen, **others, eos_token_id=self._end, pad_token_id=self._end,
                return_dict_in_generate=True, output_logits=True,
            )  # fmt: skip

    def _read_once(self, asked: Any, each: int) -> dict[str, Any]:
        """Prompts several times over, of which all but the last token is read already, once."""
        ids, mask = asked["input_ids"], asked["attention_mask"]
        places = (mask.cumsum(-1) - 1).clamp(min=0)
        read = self._model.base_model(
            input_ids=ids[:, :-1], attention_mask=mask[:, :-1], position_ids=places[:, :-1], use_cache=True
        ).past_key_values
        read.batch_repeat_interleave(each)
        again = {"input_ids": ids, "attention_mask": mask}
        return {name: given.repeat_interleave(each, 0) for name, given in again.items()} | {
            "past_key_values": read
        }


def as_transformers(decoding: Decoding, count: int) -> dict[str, Any]:
    """The same wishes as generate() knows them. Without chance there are as many different replies as beams."""
    chosen: dict[str, Any] = {
        "max_new_tokens": decoding.max_tokens, "min_new_tokens": max(1, decoding.min_tokens),
        "repetition_penalty": decoding.repeat_penalty, "no_repeat_ngram_size": decoding.no_repeat or None,
        "num_beams": decoding.beams, "do_sample": bool(decoding.temperature),
        "num_return_sequences": count if decoding.temperature else min(count, decoding.beams),
    }  # fmt: skip
    if decoding.temperature:
        chosen |= {"temperature": decoding.temperature, "top_k": decoding.top_k, "top_p": decoding.top_p}
        if decoding.top_k:  # transformers would sort the whole vocabulary for each word
            chosen |= {
                "temperature": 1.0,
                "top_k": 0,
                "top_p": 1.0,
                "logits_processor": [_Likeliest(decoding)],
            }
    if decoding.groups > 1:
        from heartfelt.models.diverse_beams import diverse_beams

        chosen |= {
            "custom_generate": diverse_beams,
            "groups": decoding.groups,
            "diversity": decoding.diversity,
        }
    return chosen


class _Likeliest:
    """Leaves the likeliest top_k words that have top_p of their chances together, at a temperature."""

    def __init__(self, decoding: Decoding) -> None:
        self._how = decoding

    def __call__(self, _: Any, scores: Any) -> Any:
        """(rows, words) → the same."""
        best, places = (scores / self._how.temperature).topk(min(self._how.top_k, scores.shape[-1]))
        chances = best.softmax(-1)
        kept = best.masked_fill(chances.cumsum(-1) - chances >= self._how.top_p, float("-inf"))
        return scores.new_full(scores.shape, float("-inf")).scatter(1, places, kept)
