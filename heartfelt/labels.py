"""The labels, written once: 32 emotions, 8 intents, neutral, and Parrott's 6 groups.

The ids are the published ones (EmpatheticIntents, meed2): the emotions in alphabetical order are 0-31, the
intents 32-39, neutral 40. (EmpatheticIntents' own labels.txt says neutral = 38, which is questioning; the
data files use 40, and so do we.)
"""

from heartfelt.errors import UnknownName

# rashkin2019, Figure 3.
EMOTIONS: tuple[str, ...] = (
    "afraid", "angry", "annoyed", "anticipating", "anxious", "apprehensive", "ashamed", "caring",
    "confident", "content", "devastated", "disappointed", "disgusted", "embarrassed", "excited", "faithful",
    "furious", "grateful", "guilty", "hopeful", "impressed", "jealous", "joyful", "lonely",
    "nostalgic", "prepared", "proud", "sad", "sentimental", "surprised", "terrified", "trusting",
)  # fmt: skip

# meed2, section 3.2; the order is that of the published ids.
INTENTS: tuple[str, ...] = (
    "agreeing", "acknowledging", "encouraging", "consoling",
    "sympathizing", "suggesting", "questioning", "wishing",
)  # fmt: skip

NEUTRAL = "neutral"

LABELS: tuple[str, ...] = (*EMOTIONS, *INTENTS, NEUTRAL)

# naous2021, Table 2: the 32 emotions under Parrott's six primary ones.
GROUPS: dict[str, tuple[str, ...]] = {
    "joy": (
        "excited", "proud", "grateful", "hopeful", "confident", "joyful", "content", "prepared", "anticipating",
    ),
    "love": ("caring", "sentimental", "trusting", "faithful", "nostalgic"),
    "surprise": ("surprised", "impressed"),
    "sadness": ("sad", "lonely", "guilty", "disappointed", "devastated", "embarrassed", "ashamed"),
    "anger": ("angry", "annoyed", "furious", "disgusted", "jealous"),
    "fear": ("afraid", "terrified", "anxious", "apprehensive"),
}  # fmt: skip

_LABEL_ID = {label: i for i, label in enumerate(LABELS)}
_GROUP_OF = {emotion: group for group, emotions in GROUPS.items() for emotion in emotions}


def label_id(label: str) -> int:
    """The published id of one of the 41 labels: afraid is 0, neutral is 40."""
    try:
        return _LABEL_ID[label]
    except KeyError:
        raise UnknownName("label", label, LABELS) from None


def group_of(emotion: str) -> str:
    """The primary emotion (Parrott) that one of the 32 emotions belongs to: furious is anger."""
    try:
        return _GROUP_OF[emotion]
    except KeyError:
        raise UnknownName("emotion", emotion, EMOTIONS) from None
