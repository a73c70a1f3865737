"""20 Newsgroups: messages by topic, for the topic classifier of TopicPrepend (rashkin2019).

Source: http://qwone.com/~jason/20Newsgroups/ (20news-bydate)
Licence: none stated
Fields: a message's body is one turn, its label one of 20 groups; meta keeps `subject`.
Known faults: messages are in ISO-8859-1, quote each other, and a few have no body (their subject is taken). Some
copies hold all 18,846 messages under `train`; `describe` shows it.
"""

import tarfile
from collections.abc import Iterator
from pathlib import Path

from heartfelt.corpora.corpus import Corpus, Download
from heartfelt.dialogue import Dialogue, Turn
from heartfelt.errors import MissingData
from heartfelt.files import Faults, unpack_errors

GROUPS = (
    "alt.atheism", "comp.graphics", "comp.os.ms-windows.misc", "comp.sys.ibm.pc.hardware",
    "comp.sys.mac.hardware", "comp.windows.x", "misc.forsale", "rec.autos", "rec.motorcycles",
    "rec.sport.baseball", "rec.sport.hockey", "sci.crypt", "sci.electronics", "sci.med", "sci.space",
    "soc.religion.christian", "talk.politics.guns", "talk.politics.mideast", "talk.politics.misc",
    "talk.religion.misc",
)  # fmt: skip
_SIZE_LIMIT = 1 << 20


def read(folder: Path, split: str, faults: Faults) -> Iterator[Dialogue]:
    path = folder / "20news-bydate.tar.gz"
    if path.is_dir():
        faults.add(path, 1, "is a folder, not a file")
        return
    count = 0
    broken: tuple[type[Exception], ...] = (tarfile.TarError, OSError, *unpack_errors())
    try:
        with tarfile.open(path, "r|gz") as archive:
            for count, member in enumerate(archive, start=1):
                parts = Path(member.name).parts
                if not member.isfile() or len(parts) < 3 or parts[-3] != f"20news-bydate-{split}":
                    continue
                group, name = parts[-2:]
                file = archive.extractfile(member)
                if group not in GROUPS:
                    faults.add(path, count, f"{member.name[:80]}: unknown group '{group[:40]}'")
                elif member.size > _SIZE_LIMIT or file is None:
                    faults.add(path, count, f"{member.name[:80]}: larger than {_SIZE_LIMIT >> 20} MiB")
                elif dialogue := _message(f"{split}-{group}-{name}", group, file.read()):
                    yield dialogue
                else:
                    faults.add(path, count, f"{member.name[:80]}: an empty message")
    except (FileNotFoundError, NotADirectoryError, PermissionError) as problem:
        raise MissingData(f"The file {path} cannot be opened: {problem.strerror}") from None
    except broken as problem:
        # The "line" of an archive is the count of its members.
        faults.add(path, count + 1, f"the archive is broken or cut off here ({problem})")


def _message(id_: str, group: str, raw: bytes) -> Dialogue | None:
    head, _, body = raw.decode("latin-1").replace("\r\n", "\n").partition("\n\n")
    subjects = [line[8:].strip() for line in head.split("\n") if line.lower().startswith("subject:")]
    text = body.strip() or "".join(subjects[:1])
    if not text:
        return None
    meta = {"subject": subjects[0]} if subjects else {}
    return Dialogue(id_, (Turn("author", text, group),), source=CORPUS.name, meta=meta)


CORPUS = Corpus(
    name="20news",
    about=__doc__,
    read=read,
    folder="20news",
    shows="20news-bydate.tar.gz",
    splits=("train", "test"),
    labels=GROUPS,
    downloads=(
        Download(  # the copy, and the checksum, that scikit-learn uses
            "https://ndownloader.figshare.com/files/5975967",
            sha256="8f1b2514ca22a5ade8fbb9cfa5727df95fa587f4c87b786e15c759fa66d95610",
            unpack_to="",
            name="20news-bydate.tar.gz",
        ),
    ),
)
