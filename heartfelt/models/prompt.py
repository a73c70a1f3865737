"""How a dialogue is written for a listener model: turns between marks, and a prefix that steers each reply.

    <|im_start|>user
    My dog died last night.<|im_end|>
    <|im_start|>assistant
    [sad | sympathizing] Oh no, I am so sorry. How old was he?<|im_end|>

Training and every engine that runs the model write it by these functions.
"""

from heartfelt.dialogue import Dialogue
from heartfelt.labels import LABELS

OPEN = "any"  # a part of the prefix that is left open
END = "<|im_end|>"
SPEAKS, ANSWERS = "<|im_start|>user\n", "<|im_start|>assistant\n"


def prefix(emotion: str | None, plan: str | None) -> str:
    """How the speaker feels, and what the reply does."""
    return f"[{emotion or OPEN} | {plan or OPEN}]"


def plain(text: str) -> str:
    """A text that cannot pass for the marks between turns."""
    return text.replace("<|", "< |")


def prompt(dialogue: Dialogue, emotion: str | None, plan: str | None) -> str:
    """All of a dialogue, up to where the reply begins. A listener turn's label is the plan that it was said with."""
    written = []
    for turn in dialogue.turns:
        if turn.speaker == dialogue.speaker:
            written.append(f"{SPEAKS}{plain(turn.text)}{END}\n")
        else:
            head = prefix(dialogue.emotion, turn.label if turn.label in LABELS else None)
            written.append(f"{ANSWERS}{head} {plain(turn.text)}{END}\n")
    return "".join([*written, ANSWERS, prefix(emotion, plan)])
