"""`heartfelt intents …`, as a user types it."""

import json
from pathlib import Path

import pytest

from heartfelt import Dialogue, Turn, cli, corpora

SEEDS = [
    ("Good luck!", "wishing"),
    ("Good luck to you", "wishing"),
    ("I wish you good luck", "wishing"),
    ("What happened to you?", "questioning"),
    ("What happened?", "questioning"),
    ("Oh, what happened?", "questioning"),
    ("I like tea", "sharing_opinions"),
]


def heartfelt(*arguments: str | Path) -> int:
    with pytest.raises(SystemExit) as stop:
        cli.main([str(argument) for argument in arguments])
    return int(stop.value.code or 0)


def write(path: Path, *dialogues: Dialogue) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(f"{dialogue.to_json()}\n" for dialogue in dialogues))
    return path


@pytest.fixture
def seeds(tmp_path: Path) -> Path:
    labelled = [Dialogue(f"s{i}", (Turn("listener", *seed),)) for i, seed in enumerate(SEEDS)]
    return write(tmp_path / "seeds.jsonl", *labelled)


def chat(id_: str, *texts: str) -> Dialogue:
    return Dialogue(id_, tuple(Turn(("speaker", "listener")[i % 2], text) for i, text in enumerate(texts)))


@pytest.fixture
def chats(tmp_path: Path) -> Path:
    return write(
        tmp_path / "chats.jsonl",
        chat("a", "Good luck to me", "Luck, luck! Oh. What happened?"),
        chat("b", "I lost my key", "What happened?", "It fell", "Best of luck!"),
        chat("c", "I lost my hat", "what happened", "It fell", "I see."),
    )


def test_ngrams(seeds: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert heartfelt("intents", "ngrams", seeds) == 0
    said = capsys.readouterr()
    assert [line.split() for line in said.out.splitlines()] == [
        ["intent", "n-gram", "seeds", "of", "purity"],
        ["wishing", "good", "3", "3", "1.00"],
        ["wishing", "luck", "3", "3", "1.00"],
        ["questioning", "happened", "3", "3", "1.00"],
        ["questioning", "what", "3", "3", "1.00"],
    ]
    assert "1 turns of" in said.err
    assert "left out: sharing_opinions" in said.err
    assert heartfelt("intents", "ngrams", seeds, "--json", "--top", "1") == 0
    assert json.loads(capsys.readouterr().out)["wishing"] == [{"ngram": "good", "seeds": 3, "purity": 1.0}]


def test_extend_then_balance(
    seeds: Path, chats: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out, balanced = tmp_path / "out.jsonl", tmp_path / "balanced.jsonl"
    assert heartfelt("intents", "extend", seeds, chats, out) == 0
    said = capsys.readouterr().out
    assert "5 listener turns: 3 kept, 1 claimed by several intents, 1 by none" in said
    found = {d.id: (d.turns[0].text, d.turns[0].label) for d in corpora.load(str(out))}
    assert found == {
        "b:1": ("What happened?", "questioning"),
        "b:3": ("Best of luck!", "wishing"),
        "c:1": ("what happened", "questioning"),
    }
    assert heartfelt("intents", "balance", out, balanced, "--most", "5") == 0
    assert "3 turns, 2 kept" in capsys.readouterr().out  # "What happened?" is "what happened"
    assert [d.id for d in corpora.load(str(balanced))] == ["b:1", "b:3"]


def test_sentences_part_what_two_intents_claim(
    seeds: Path, chats: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "out.parquet"
    pytest.importorskip("pyarrow")
    assert heartfelt("intents", "extend", seeds, chats, out, "--sentences") == 0
    assert "7 sentences of listeners: 5 kept" in capsys.readouterr().out
    found = {d.id: d.turns[0].text for d in corpora.load(str(out))}
    assert (found["a:1.0"], found["a:1.2"]) == ("Luck, luck!", "What happened?")


def test_several_corpora_and_their_splits(seeds: Path, chats: Path, tmp_path: Path) -> None:
    folder = tmp_path / "mine"
    write(folder / "train.jsonl", chat("b", "hm", "Good luck"))
    write(folder / "test.jsonl", chat("t", "hm", "Good luck"))
    out = tmp_path / "out.jsonl"
    # chats.jsonl is one split and is taken whole; ids of two corpora do not meet.
    assert heartfelt("intents", "extend", seeds, folder, chats, out, "--split", "train") == 0
    assert [d.id for d in corpora.load(str(out))] == [
        "mine/b:1", "chats.jsonl/b:1", "chats.jsonl/b:3", "chats.jsonl/c:1",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (["ngrams", "CHATS"], "No turn of CHATS is labelled with one of the 8 intents (agreeing"),
        (["ngrams", "intent_seed"], "Did you mean 'intent_seeds'"),
        (["extend", "SEEDS", "CHATS"], "Missing argument 'CORPUS...'"),
        (["extend", "SEEDS", "CHATS", "SEEDS"], "is there already; name another file, or add --force"),
        (["extend", "SEEDS", "CHATS", "empathetic_dialogues"], "name a file that ends in .jsonl or .parquet"),
        (["extend", "SEEDS", "CHATS", "CHATS", "OUT"], "two of the corpora are called chats.jsonl"),
        (["extend", "SEEDS", "CHATS", "OUT", "--split", "train"], "There is no split 'train'. There is: all"),
        (
            ["extend", "SEEDS", "CHATS", "OUT", "--min-seeds", "4"],
            "claims any of 5 turns; nothing was written",
        ),
        (["extend", "SEEDS", "CHATS", "OUT", "--min-purity", "2"], "--min-purity"),
        (["balance", "CHATS", "OUT", "--most", "2"], "the last turn of a has no label"),
        (["balance", "SEEDS", "SEEDS", "--most", "2"], "is there already"),
        (["balance", "SEEDS", "OUT"], "Missing option '--most'"),
    ],
)
def test_mistakes_are_answered_in_a_line_and_nothing_is_written(
    arguments: list[str],
    complaint: str,
    seeds: Path,
    chats: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    names = {"SEEDS": str(seeds), "CHATS": str(chats), "OUT": str(tmp_path / "out.jsonl")}
    before = {path: path.read_bytes() for path in tmp_path.iterdir()}
    assert heartfelt("intents", *(names.get(argument, argument) for argument in arguments)) == 2
    said = [line for line in capsys.readouterr().err.splitlines() if "have labels that" not in line]
    assert len(said) == 1
    assert complaint.replace("CHATS", str(chats)) in said[0]
    assert {path: path.read_bytes() for path in tmp_path.iterdir()} == before


def test_the_published_extension_agrees_with_ours(
    data: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The figures that docs/training.md gives."""
    from heartfelt.curation import intents

    out = tmp_path / "extended.jsonl"
    arguments = ("intent_seeds", "empathetic_dialogues", out, "--split", "train", "--data", data)
    assert heartfelt("intents", "extend", *arguments) == 0
    assert "40,254 listener turns: 18,272 kept, 5,892 claimed by several" in capsys.readouterr().out
    assert heartfelt("intents", "extend", *arguments, "--sentences", "--force") == 0
    assert "66,478 sentences of listeners: 26,241 kept" in capsys.readouterr().out
    found = intents.agreement(corpora.load(str(out)), corpora.load("intent_ngrams", "train", data=data))
    assert found == intents.Agreement(ours=19375, theirs=26436, shared=13576, same_label=11456)
