"""Arabic text: spelled one way, cut into clitics for models that learn, and put together again for people.

    prepare("مرحباً ، كيف الحــال؟؟؟؟")    مرحبا، كيف الحال؟؟
    cut = open_segmenter("plain")
    segment("وللناس كتاباتهم.", cut)       و+ ل+ ال+ ناس كتاب +ات +هم .
    restore("و+ ل+ ال+ ناس كتاب +ات +هم .")   وللناس كتاباتهم.

restore(segment(text, cut)) equals prepare(text), whatever the text and whoever cuts.
"""

from heartfelt.arabic.clitics import Segmenter, clitic_marks, restore, segment
from heartfelt.arabic.prepare import prepare
from heartfelt.arabic.segmenters import SEGMENTERS, open_segmenter

__all__ = ["SEGMENTERS", "Segmenter", "clitic_marks", "open_segmenter", "prepare", "restore", "segment"]
