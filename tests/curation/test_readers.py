"""Subtitle files as sentences: what is read, what is taken out and counted, where files lie, which rival is taken."""

import gzip
import io
import random
import tarfile
import zipfile
from pathlib import Path

import pytest

from heartfelt.curation import opensubtitles, rivals, scrub, sources, srt
from heartfelt.curation.subtitle import Line, Seen, Subtitle, Unreadable
from tests.curation import subtitles as made


def lines(*blocks: str, start: float = 1.0) -> list[Line]:
    timed = [(start + 3 * i, start + 3 * i + 2, text) for i, text in enumerate(blocks)]
    return list(srt.read(made.srt(timed).encode()).lines)


def texts(*blocks: str) -> list[str]:
    return [line.text for line in lines(*blocks)]


def test_a_block_is_cut_into_sentences_and_only_its_ends_have_times() -> None:
    first, second = lines("I see Mr. Brown. Do you?")
    assert (first.text, first.start, first.end) == ("I see Mr. Brown.", 1.0, None)
    assert (second.text, second.start, second.end) == ("Do you?", None, 3.0)
    assert first.last == second.first == 1


def test_a_sentence_goes_on_in_the_next_block() -> None:
    (line,) = lines("I will come home", "before the winter ends.")
    assert line == Line("I will come home before the winter ends.", 1.0, 6.0, 1, 2)
    assert texts("From now on...", "...you are mine.") == ["From now on... you are mine."]


def test_a_pause_or_a_dash_ends_an_unfinished_sentence() -> None:
    far = srt.read(made.srt([(1, 2, "I will come"), (9, 10, "before the winter.")]).encode())
    assert len(far.lines) == 2
    assert texts("I will come", "- before the winter.") == ["I will come", "before the winter."]


def test_dashes_part_two_speakers() -> None:
    first, second = lines("- Are you well?\n- I am,\nthank you.")
    assert (first.text, first.dash) == ("Are you well?", True)
    assert (second.text, second.dash) == ("I am, thank you.", True)
    assert [line.dash for line in lines("Are you well? - I am.")] == [False, True]


def test_names_of_speakers_are_kept_apart_from_what_they_say() -> None:
    (line,) = lines("MAN #2: Get down!")
    assert (line.name, line.text) == ("MAN #2", "Get down!")
    assert texts("Remember: never look back.") == ["Remember: never look back."]


def test_what_is_not_said_is_taken_out_and_counted() -> None:
    blocks = [
        (1.0, 2.0, "<i>I hear</i> {\\an8}you."),
        (3.0, 4.0, "[DOOR OPENS]"),
        (5.0, 6.0, "♪ La la la ♪"),
        (7.0, 8.0, "Subtitles by Somebody"),
        (9.0, 10.0, "l'm sure lt's feeIing (LAUGHS) fine."),
    ]
    read = srt.read(made.srt(blocks).encode())
    assert [line.text for line in read.lines] == ["I hear you.", "I'm sure It's feeling fine."]
    assert read.lines[0].italic
    assert not read.lines[1].italic
    assert read.removed == {"tags": 3, "sounds": 2, "music": 1, "advertisements": 1, "misread letters": 3}


@pytest.mark.parametrize(
    "text", ["He was created by evil.", "The sub dives from here.", "I was corrected by my wife."]
)
def test_speech_is_no_advertisement(text: str) -> None:
    assert not scrub.advertised(text)


@pytest.mark.parametrize(
    ("encoding", "told"),
    [(name, name) for name in ("utf-8", "utf-8-sig", "utf-16", "utf-16-le", "cp1252")],
)
def test_encodings_are_detected(encoding: str, told: str) -> None:
    read = srt.read(made.srt([(1, 2, "The café is “closed” today.")]).encode(encoding))
    assert (read.encoding, read.lines[0].text) == (told, "The café is “closed” today.")


def test_text_that_was_encoded_twice_is_mended() -> None:
    twice = "It’s late.".encode().decode("cp1252")
    assert texts(twice) == ["It’s late."]


def test_blocks_without_numbers_or_empty_lines_between() -> None:
    text = (
        "00:00:01,000 --> 00:00:02,000\nOne.\n00:00:03.000 --> 00:00:04.000\nTwo.\n3\n"
        "00:00:05,000 --> 00:00:04,000\nThree."
    )
    read = srt.read(text.encode())
    assert [line.text for line in read.lines] == ["One.", "Two.", "Three."]
    assert (read.lines[2].start, read.lines[2].end) == (None, None)  # an end before its start


@pytest.mark.parametrize(
    ("content", "why"),
    [
        (b"hello", "no line with times"),
        (b"\0\1" * 400, "no line with times"),
        (b"\0\0\xff" * 400, "zero bytes"),
        (made.srt([(1, 2, "♪")]).encode(), "nothing is said"),
    ],
)
def test_what_is_no_subtitle_says_why(content: bytes, why: str) -> None:
    with pytest.raises(Unreadable, match=why):
        srt.read(content)


@pytest.mark.parametrize("tokenised", [True, False])
def test_opensubtitles_xml(tokenised: bool) -> None:
    read = opensubtitles.read(made.opus(tokenised).encode())
    assert [line.text for line in read.lines] == [
        "Where have you been?",
        "I'm fine.",
        "Don't ask.",
        "He's gone.",
    ]
    assert [(line.start, line.end) for line in read.lines] == [(1, 2.5), (3, None), (None, 5), (20, 22)]
    assert read.lines[1].last == read.lines[2].first == 2
    assert [line.dash for line in read.lines] == [False, False, False, True]
    assert (read.meta["year"], read.meta["unknown_words"]) == ("2001", "1")


def test_xml_that_declares_entities_is_refused() -> None:
    bomb = '<!DOCTYPE d [<!ENTITY a "ha"><!ENTITY b "&a;&a;">]><document><s id="1">&b;</s></document>'
    with pytest.raises(Unreadable, match="entities"):
        opensubtitles.read(bomb.encode())


def archives(folder: Path) -> dict[str, Path]:
    """The same three files in a folder, a zip, a tar and a tar.gz."""
    files = {
        "en/2001/209475/7.xml.gz": gzip.compress(made.opus().encode()),
        "en/2001/209475/8.xml": made.opus(tokenised=False).encode(),
        "other/film.srt": made.film("apple").encode(),
    }
    plain = folder / "plain"
    for name, content in files.items():
        (plain / name).parent.mkdir(parents=True, exist_ok=True)
        (plain / name).write_bytes(content)
    with zipfile.ZipFile(folder / "a.zip", "w") as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    found = {"folder": plain, "zip": folder / "a.zip"}
    for ending, mode in (("tar", "w"), ("tar.gz", "w:gz")):
        with tarfile.open(folder / f"a.{ending}", mode) as tar:  # type: ignore[call-overload]
            for name, content in files.items():
                entry = tarfile.TarInfo(name)
                entry.size = len(content)
                tar.addfile(entry, io.BytesIO(content))
        found[ending] = folder / f"a.{ending}"
    return found


def test_archives_hold_what_folders_hold(tmp_path: Path) -> None:
    read = {}
    for kind, path in archives(tmp_path).items():
        listed = sorted(sources.find([path]), key=lambda source: source.name.split("/", 1)[1])
        assert [source.film for source in listed] == ["tt0209475", "tt0209475", ""]
        read[kind] = [sources.read(source) for source in listed]
    assert read["zip"] == read["tar"] == read["tar.gz"] == read["folder"]


def test_a_tar_is_read_again_for_what_has_passed(tmp_path: Path) -> None:
    listed = sources.find([archives(tmp_path)["tar.gz"]])
    assert [len(sources.read(source).lines) for source in (listed[2], listed[0], listed[1])] == [64, 4, 4]


def test_a_cut_off_file_says_so(tmp_path: Path) -> None:
    (tmp_path / "a.xml.gz").write_bytes(gzip.compress(made.opus().encode())[:-30])
    (source,) = sources.find([tmp_path])
    with pytest.raises(Unreadable, match="cut off"):
        sources.read(source)


def rival(name: str, subtitle: Subtitle, film: str = "") -> rivals.Rival:
    return rivals.Rival(name, film, rivals.quality(subtitle), rivals.sketch(subtitle))


def test_rivals_are_known_by_their_lines_not_by_their_names() -> None:
    one, other = (srt.read(made.film(word, scenes=12).encode()) for word in ("apple", "river"))
    part = Subtitle(one.lines[:40], 40)
    misread = Subtitle(one.lines, one.blocks, removed={"misread letters": 50})
    found = rivals.choose(
        [rival("a.srt", misread), rival("b.srt", one), rival("c.srt", part), rival("other.srt", other)]
    )
    told = {choice.name: (choice.taken, choice.reason) for choice in found}
    assert told["b.srt"] == (True, "the soundest of 3: fewer misread letters")
    assert told["a.srt"] == (False, "b.srt is sounder: fewer misread letters")
    assert told["c.srt"][0] is False
    assert told["c.srt"][1].startswith("a part: 40 lines")
    assert told["other.srt"] == (True, "the only one")


def test_opensubtitles_paths_name_the_film() -> None:
    one, other = (srt.read(made.film(word).encode()) for word in ("apple", "river"))
    found = rivals.choose([rival("1.xml", one, "tt7"), rival("2.xml", other, "tt7")])
    assert sorted(choice.taken for choice in found) == [False, True]


def test_a_thousand_mutations_crash_nothing() -> None:
    draw = random.Random(7)
    seeds = [made.film("apple", 2).encode(), made.opus().encode(), made.opus(tokenised=False).encode()]
    odd = b"--> < > { [ \0 \xff\xfe \r &#x0; &amp <s> </s> - 99:99:99,999".split(b" ")
    readable = 0
    for number in range(1000):
        content = bytearray(seeds[number % 3])
        for _ in range(draw.randint(1, 12)):
            place = draw.randrange(len(content))
            match draw.randrange(5):
                case 0:
                    content[place] = draw.randrange(256)
                case 1:
                    del content[place : place + draw.randint(1, 200)]
                case 2:
                    content[place:place] = draw.choice(odd) * draw.randint(1, 3)
                case 3:
                    content[place:place] = content[place : place + draw.randint(1, 300)]
                case _:
                    content[place : place + 4] = bytes(draw.randrange(256) for _ in range(4))
            content = content or bytearray(b"x")
        read = srt.read if number % 3 == 0 else opensubtitles.read
        try:
            found = read(bytes(content))
        except Unreadable:
            continue
        readable += 1
        assert found.lines
        assert all(line.text.strip() and "\n" not in line.text for line in found.lines)
        assert all(line.start is None or line.end is None or line.start <= line.end for line in found.lines)
        rivals.quality(found)
        rivals.sketch(found)
    assert 300 < readable < 1000  # both ways out were taken


def test_opening_counts_names() -> None:
    seen = Seen()
    assert scrub.opening("- ANNA: Stay.", seen) == ("Stay.", True, "ANNA")
    assert seen == {"speaker names": 1}
