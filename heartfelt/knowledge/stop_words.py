"""English words that are no concepts: function words by class, so that a reader sees what is missing.

liu2021 takes the union of NLTK's and spaCy's lists. This one is our own, and holds every word of the two
(docs/knowledge.md says against which versions that was counted).
"""

_CLASSES = """
    i me my mine myself we us our ours ourselves you your yours yourself yourselves
    he him his himself she her hers herself it its itself one they them their theirs themselves
    this that these those who whom whose which what whoever whatever whichever
    anyone anything everyone everything someone something noone nobody nothing none
    a an the some any each every few less least many much more most several enough other others another own same such
    both either neither all no nor not only various whole latter former
    am is are was were be been being become becomes became becoming have has had having do does did doing done
    can could will would shall should must may might cannot ca used using
    get give go keep make made move name put say see seem seemed seeming seems show take call
    please regarding serious unless via
    and but or if because as until while than so though although whereas whether since yet also too
    of at by for with without within about against between among amongst amount into onto through throughout during
    before after above below beside besides behind beyond across along around thru toward towards under over upon up
    down
    in out on off to from per except
    beforehand afterwards again already almost alone always never often sometimes sometime ever still just then once now
    here there when where why how however moreover nevertheless otherwise perhaps quite rather really very well even
    else elsewhere indeed further furthermore hence thence thus therefore meanwhile mostly namely together
    anyhow anyway anywhere everywhere nowhere somehow somewhere hereafter hereby herein hereupon thereafter thereby
    therein thereupon whence whenever whereafter whereby wherein whereupon wherever whither last latterly next first
    formerly front back side top bottom part full empty due nine ten
    two three four five six eight eleven twelve fifteen twenty thirty forty fifty sixty hundred third
"""

# What a tokeniser leaves of a contraction, and contractions as they are written.
_CONTRACTIONS = """
    d ll m o re s t ve y ain aren couldn didn doesn don hadn hasn haven isn ma mightn mustn needn shan shouldn
    wasn weren won wouldn
    ain't aren't couldn't didn't doesn't don't hadn't hasn't haven't isn't mightn't mustn't needn't shan't shouldn't
    wasn't weren't won't wouldn't
    i'm i'd i'll i've you're you'd you'll you've he's he'd he'll she's she'd she'll it's it'd it'll
    we're we'd we'll we've they're they'd they'll they've that'll should've
    n't 'd 'll 'm 're 's 've
"""

ENGLISH = frozenset(f"{_CLASSES} {_CONTRACTIONS}".split())
