"""A study to begin with: a study file and a few items of our own, for each kind and both languages."""

import json
from pathlib import Path

from heartfelt.errors import InvalidValue
from heartfelt.files import writing

_HEAD = """\
# heartfelt study check {name}/study.yaml; heartfelt study serve {name}/study.yaml
name: {name}
kind: {kind}
language: {language}            # of the page's own words: en, or ar from right to left
title: {title}
access: open            # anybody; crowd: with ?worker=ID; links: only by heartfelt study links
# consent: |            # your own words; the page has its own where left out
# instructions: |
"""

_JUDGED = """
# Systems by their outputs files (heartfelt outputs import, heartfelt outputs answer), or items of your own:
# systems: {{ours: ours.jsonl, theirs: theirs.jsonl}}
# human: true           # the people's own replies are judged too
# turns: 100            # so many turns, drawn by the seed
items: items.jsonl
batches: {{size: {size}, raters: 4, most: 50, minutes: 60}}
"""

_OWN = {
    "likert": """
together: false         # true: all replies to a dialogue on one page
questions:
  - {name: empathy, ask: "Did the reply show understanding of the feelings of the person talking?", low: 1, high: 5, labels: [not at all, very much]}
  - {name: relevance, ask: "Did the reply seem appropriate to the conversation? Was it on-topic?", low: 1, high: 5, labels: [not at all, very much]}
  - {name: fluency, ask: "Could you understand the reply? Did the language seem accurate?", low: 1, high: 5, labels: [not at all, very much]}
attention:
  - {context: ["This page checks that you are reading."], replies: ["Please choose 1 for every question on this page."], expect: [1]}
""",
    "sort": """
bonus: 2                # dialogues of a batch that hide the people's own reply among the others
warmup:
  context: ["I've got an exam next week and I have not even begun."]
  replies:
    - {text: "Oh, good luck! Which exam is it?", area: good, hint: "It takes up what was said and asks on."}
    - {text: "Exams can be hard.", area: okay, hint: "It fits, but shows little feeling."}
    - {text: "I like bananas.", area: bad, hint: "It has nothing to do with what was said."}
""",
    "choose": """
attention:
  - {context: ["This page checks that you are reading."], replies: ["Please choose this reply.", "Please do not choose this reply."], expect: [better, null]}
""",
    "collect": """
collect:
  offered: 3            # of the least used emotions, to choose one from
  least_turns: 4
  most_turns: 8
  partner: people       # agent: an agent listens; either: one comes where nobody else does
  wait_seconds: 120
  away_seconds: 60
  turn_minutes: 5
batches: {most: 20}     # talks that one person may take part in
""",
}

_OWN_AR = {
    "likert": """
together: false         # true: all replies to a dialogue on one page
questions:
  - {name: empathy, ask: "هل يُظهر الرد قدرة على فهم مشاعر المتحدث؟", low: 0, high: 5, labels: [ضعيف جدًا, ممتاز]}
  - {name: relevance, ask: "ما مدى صلة الرد بما قيل؟", low: 0, high: 5, labels: [ضعيف جدًا, ممتاز]}
  - {name: fluency, ask: "ما مدى وضوح الرد؟ هل هو سليم لغويًا؟", low: 0, high: 5, labels: [ضعيف جدًا, ممتاز]}
attention:
  - {context: ["هذه الصفحة تتحقق من أنك تقرأ."], replies: ["اختر 1 لكل سؤال في هذه الصفحة."], expect: [1]}
""",
    "sort": """
bonus: 2                # dialogues of a batch that hide the people's own reply among the others
warmup:
  context: ["لدي امتحان الأسبوع القادم ولم أبدأ بعد."]
  replies:
    - {text: "بالتوفيق! أي امتحان هو؟", area: good, hint: "يتابع ما قيل ويسأل عنه."}
    - {text: "الامتحانات صعبة أحيانًا.", area: okay, hint: "مناسب، لكنه لا يُظهر شعورًا كثيرًا."}
    - {text: "أحب الموز.", area: bad, hint: "لا علاقة له بما قيل."}
""",
    "choose": """
attention:
  - {context: ["هذه الصفحة تتحقق من أنك تقرأ."], replies: ["اختر هذا الرد من فضلك.", "لا تختر هذا الرد."], expect: [better, null]}
""",
    "collect": _OWN["collect"],
}

_SURVEYS = {"ar": """
survey:
  - {name: clear, ask: "هل كانت التعليمات واضحة؟", options: ["نعم", "إلى حد ما", "لا"], required: true}
  - {name: remarks, ask: "هل تود أن تخبرنا بشيء؟"}
seed: 0
""", "en": """
survey:
  - {name: clear, ask: "Were the instructions clear?", options: ["yes", "partly", "no"], required: true}
  - {name: remarks, ask: "Anything you would like to tell us?"}
seed: 0
"""}  # fmt: skip

_TITLES = {
    "en": {"likert": "How do these replies sound?", "sort": "Good, okay or bad?", "choose": "Which reply is better?",
           "collect": "Two short talks about feelings"},
    "ar": {"likert": "كيف تبدو هذه الردود؟", "sort": "جيد أم مقبول أم سيئ؟", "choose": "أي الردين أفضل؟",
           "collect": "محادثتان قصيرتان عن المشاعر"},
}  # fmt: skip

# Written for this file. (emotion, context, the person's reply, a fair one, a poor one)
_ITEMS = {
    "en": (
        ("proud", ["I ran my first ten kilometres today."], "Ten whole kilometres! How do your legs feel?", "That is nice.", "I am sorry for your loss."),
        ("sad", ["My cat has been gone for two weeks."], "Oh no. Two weeks of waiting must hurt.", "Cats are animals.", "Great, congratulations!"),
        ("anxious", ["Tomorrow they tell me whether I keep my job."], "That is a heavy night to get through. Who is with you?", "Jobs are important.", "I had soup."),
        ("grateful", ["My neighbour fixed my bike and wanted nothing for it."], "What a kind thing to do! Will you bake them something?", "Bikes need repair.", "That is terrible."),
        ("lonely", ["Everybody moved away after school but me."], "It must be quiet around you now. Do you still write to each other?", "School ends for all.", "Well done!"),
        ("surprised", ["They had hidden in my kitchen and sang for me!"], "Ha! Did you see it coming at all?", "Kitchens are small.", "Are you going to sue them?"),
    ),
    "ar": (
        ("proud", ["ركضت اليوم عشرة كيلومترات لأول مرة."], "عشرة كيلومترات كاملة! كيف حال ساقيك؟", "هذا لطيف.", "أعزيك في مصابك."),
        ("sad", ["قطتي غائبة منذ أسبوعين."], "يا إلهي، لا بد أن الانتظار مؤلم.", "القطط حيوانات.", "مبروك!"),
        ("anxious", ["غدًا يخبرونني إن كنت سأحتفظ بعملي."], "ليلة ثقيلة. من معك الآن؟", "العمل مهم.", "أكلت حساءً."),
        ("grateful", ["أصلح جاري دراجتي ولم يطلب شيئًا."], "يا له من لطف! هل ستخبز له شيئًا؟", "الدراجات تحتاج إلى إصلاح.", "هذا فظيع."),
        ("lonely", ["رحل الجميع بعد المدرسة إلا أنا."], "لا بد أن المكان هادئ حولك. هل ما زلتم تتراسلون؟", "المدرسة تنتهي للجميع.", "أحسنت!"),
        ("surprised", ["اختبأوا في مطبخي وغنوا لي!"], "ها! هل توقعت ذلك أصلًا؟", "المطابخ صغيرة.", "هل ستقاضيهم؟"),
    ),
}  # fmt: skip


def new_study(folder: Path, kind: str, language: str = "en") -> Path:
    """Write a study that can be served as it is; returns the path of its study file."""
    path = folder / "study.yaml"
    if path.exists():
        raise InvalidValue(f"{path} is there already; name another folder")
    asked = (_OWN_AR if language == "ar" else _OWN)[kind]
    own = asked if kind == "collect" else _JUDGED.format(size=3) + asked
    head = _HEAD.format(name=folder.name, kind=kind, language=language, title=json.dumps(_TITLES[language][kind], ensure_ascii=False))
    if kind != "collect":
        with writing(folder / "items.jsonl") as file:
            for number, (emotion, context, reply, fair, poor) in enumerate(_ITEMS[language]):
                item = {
                    "name": f"item-{number}", "context": context, "replies": {"ours": fair, "theirs": poor},
                    "emotion": emotion, "group": "examples", "reference": reply,
                }  # fmt: skip
                file.write(json.dumps(item, ensure_ascii=False) + "\n")
    with writing(path) as file:
        file.write(head + own + _SURVEYS[language])
    return path
