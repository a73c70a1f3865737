"""A finished run of a listener model writes the replies, in torch."""

from collections.abc import Callable
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


class RunFolder:
    languages = ("en",)

    def __init__(self, folder: Path) -> None:
        self._torch = need("torch", "train", "A run folder")
        transformers = need("transformers", "train", "A run folder")
        if not (folder / "model").is_dir():
            raise MissingData(f"{folder} is not a finished run: heartfelt runs list shows those that are")
        recipe = load_recipe(folder / "recipe.yaml")
        module = module_of(recipe.model) if recipe.model in MODELS else None
        if module is None or not hasattr(module, "speaking"):
            raise InvalidValue(f"{folder} ({recipe.model}) does not write replies: take a run of listener_lm")
        self.name = folder.name
        self._one_at_a_time = Lock()
        self._tokenizer: Any = transformers.AutoTokenizer.from_pretrained(folder / "model")
        self._model = module.speaking(module.load(folder / "model"))
        self._end = self._tokenizer.convert_tokens_to_ids(END)

    def say(self, dialogue: Dialogue, wish: Wish, count: int, decoding: Decoding) -> list[Candidate]:
        refuse_what_it_cannot(f"{self.name} (listener_lm)", SAMPLING, decoding)
        asked = self._asked(dialogue, wish)
        found = self._generate(asked, decoding, count)
        begin = asked["input_ids"].shape[1]
        scores = self._model.compute_transition_scores(found.sequences, found.logits, normalize_logits=True)
        said = []
        for row, logprobs in zip(found.sequences[:, begin:], scores, strict=True):
            ended = (row == self._end).nonzero()
            length = int(ended[0]) + 1 if len(ended) else len(row)
            text = self._tokenizer.decode(row[:length], skip_special_tokens=True).strip()
            said.append(Candidate(text, {"likelihood": float(logprobs[:length].mean())}))
        return said

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

        self._generate(self._asked(dialogue, wish), decoding, 1, streamer=Streamer())
        return "".join(pieces).strip()

    def _asked(self, dialogue: Dialogue, wish: Wish) -> Any:
        text = prompt(shortened(dialogue, _WINDOW), wish.emotion, wish.plan)
        return self._tokenizer(text, add_special_tokens=False, return_tensors="pt")

    def _generate(self, asked: Any, decoding: Decoding, count: int, **others: Any) -> Any:
        with self._one_at_a_time, self._torch.no_grad():  # the seed is the whole process's
            if decoding.seed is not None:
                self._torch.manual_seed(decoding.seed)
            return self._model.generate(
                **asked, **as_transformers(decoding, count), **others, eos_token_id=self._end, pad_token_id=self._end,
                return_dict_in_generate=True, output_logits=True,
            )  # fmt: skip


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
    if decoding.groups > 1:
        from heartfelt.models.diverse_beams import diverse_beams

        chosen |= {
            "custom_generate": diverse_beams,
            "groups": decoding.groups,
            "diversity": decoding.diversity,
        }
    return chosen
