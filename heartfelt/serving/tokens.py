"""How long a text is, for `usage`: in the shipped encoder's word pieces, whatever wrote the reply."""

from functools import cache

from tokenizers import Tokenizer

from heartfelt.agent.listen import SHIPPED


def count(text: str) -> int:
    return len(_tokenizer().encode(text, add_special_tokens=False).ids) if text else 0


@cache
def _tokenizer() -> Tokenizer:
    found = Tokenizer.from_file(str(SHIPPED / "encoder" / "tokenizer.json"))
    found.no_truncation()
    found.no_padding()
    return found
