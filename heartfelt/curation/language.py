"""Is a text English? Told by its function words, beside those of the languages that subtitles are mostly in."""

from collections import Counter
from collections.abc import Iterable

from heartfelt.text import words

# The commonest words of each language, without those that English has too.
_COMMON: dict[str, frozenset[str]] = {
    name: frozenset(listed.split())
    for name, listed in {
        "en": "the and you that is it to of what i'm don't was this have are with know my your for be not we do"
        " he can't it's just she they but there how who will his her would get like here go him all me out up",
        "es": "que de la el los las una por con para está pero como muy qué más yo ella esto eso todo bien",
        "fr": "je vous est les des une que pas pour dans qui ça c'est mais avec suis il elle nous très bien j'ai",
        "de": "ich ist das nicht und sie wir ein eine der den mit auf für was haben sind aber wie doch noch",
        "it": "che di non il sono una per con gli hai questo cosa mi lo ho perché bene della anche solo",
        "pt": "que não uma você para com eu está isso mais como ele ela muito bem meu minha foi aqui",
        "nl": "ik je het niet een van dat en zijn wat maar voor heb met ook nog naar hij wij geen",
        "sv": "jag det är inte och att som på har för vi han vad kan med den till dig om men",
        "pl": "nie się to jest że na co jak ale mnie tak za już tylko czy przez ten pan moje",
        "tr": "bir bu ne ve için ben sen değil çok ama evet hayır var yok daha gibi nasıl şey",
        "ro": "nu este și că ce pentru mai sunt cu din asta dar ai fost bine mi te unde acum",
        "id": "yang dan tidak aku kau ini itu apa untuk dengan akan kita dia saya bisa ada dari kami",
    }.items()
}
ENGLISH = 0.12  # the least share of function words; subtitles have .17 to .27, other languages under .05
_FEW = 8  # words below which a text tells too little


def share(text: str) -> float:
    """The share of a text's words that are common English ones."""
    said = words(text)
    return sum(word in _COMMON["en"] for word in said) / max(1, len(said))


def language(texts: Iterable[str]) -> str:
    """ "en", another language that we know words of, "?" for any other; "" where there are too few words to tell."""
    counts: Counter[str] = Counter()
    total = odd = letters = 0
    for text in texts:
        for char in text:
            if char.isalpha():
                letters += 1
                odd += char > "ɏ"  # after the Latin letters
        for word in words(text):
            total += 1
            for name, common in _COMMON.items():
                counts[name] += word in common
    if odd > letters // 2:
        return "?"
    if total < _FEW:
        return ""
    best, hits = max(counts.items(), key=lambda pair: (pair[1], pair[0] == "en"))
    if best == "en":
        return "en" if hits >= ENGLISH * total or total < 4 * _FEW else "?"
    return best if hits >= ENGLISH * total / 2 else "?" if total >= 4 * _FEW else ""
