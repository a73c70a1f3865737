"""What one script says of the published files, from the real ones."""

from pathlib import Path

import pytest

from heartfelt import corpora
from heartfelt.dialogue import Dialogue
from heartfelt.evaluation import METRICS, Header, Outputs, compare, importers
from heartfelt.evaluation.tokens import peers as spelt

FILES = {
    "moel": "moel_generation_result.txt", "mime": "mime_output.txt", "llm4ed": "llm4ed_chatgpt_stage1.txt",
    "empdg": "empdg_EmpDG.txt",
}  # fmt: skip


@pytest.fixture
def turns(data: Path) -> list[Dialogue]:
    return list(corpora.load("empathetic_dialogues", "test", data=data))


@pytest.fixture
def peers(data: Path, turns: list[Dialogue]) -> dict[str, Outputs]:
    if not (data / "peers").exists():
        pytest.skip("needs the peers' published outputs in the folder peers of HEARTFELT_DATA")
    header = Header("import", "empathetic_dialogues", "test")
    systems = {}
    for name, file in FILES.items():
        for outputs in importers.load(name, data / "peers" / file, turns, header):
            systems[outputs.header.system] = outputs
    return systems


def figure(outputs: Outputs, name: str) -> float:
    return METRICS[name].value(outputs.rows)


def test_the_figures(peers: dict[str, Outputs]) -> None:
    human = peers["mime-greedy"].human()
    assert human is not None
    expected = {  # Dist-1, Dist-2, "sorry to hear", mean length
        "human": (6.04, 36.87, 1.9, 14.4),
        "moel": (0.62, 2.89, 32.7, 11.4),
        "moel-oracle": (0.38, 1.60, 39.3, 11.5),
        "transformer": (0.41, 1.68, 37.1, 12.4),
        "transformer-multitask": (0.63, 3.18, 23.3, 11.2),
        "mime-greedy": (0.32, 1.24, 35.9, 13.9),
        "mime-beam": (0.25, 0.87, 54.7, 12.7),
        "mime-topk": (0.64, 4.29, 11.3, 13.4),
    }
    for name, (one, two, sorry, words) in expected.items():
        outputs = human if name == "human" else peers[name]
        assert len(outputs.rows) == 5255
        assert round(figure(outputs, "distinct_1"), 2) == one, name
        assert round(figure(outputs, "distinct_2"), 2) == two, name
        # 37.05 and 11.45 stand at the edge of rounding
        assert figure(outputs, "sorry_to_hear") == pytest.approx(sorry, abs=0.051), name
        assert figure(outputs, "length") == pytest.approx(words, abs=0.051), name


def test_accuracies(peers: dict[str, Outputs]) -> None:
    assert round(figure(peers["mime-greedy"], "accuracy_1"), 4) == 0.3488
    guesses = peers["chatgpt-3.5-guesses"]
    assert round(figure(guesses, "accuracy_1"), 3) == 0.392
    assert sum(row.guesses == () for row in guesses.rows) / 5255 == pytest.approx(0.12, abs=0.005)


def test_every_row_finds_its_turn(peers: dict[str, Outputs], turns: list[Dialogue]) -> None:
    """All but the last dialogue, which the peers' loader loses; EmpDG published about half."""
    assert all(not outputs.header.unmatched for outputs in peers.values())
    answered = set(peers["moel"].keys)
    listening = {(d.id, i) for d in turns for i in range(1, len(d.turns), 2)}
    assert {dialogue for dialogue, _ in listening - answered} == {turns[-1].id}
    assert len(peers["empdg"].rows) == 2713
    assert set(peers["empdg"].keys) < answered


def test_bleu_stands_near_the_figures_that_mime_published(peers: dict[str, Outputs]) -> None:
    """Its output.txt says 2.76 greedy, 3.13 beam, 1.76 top-k: BLEU-4 by another script, ours within .02."""
    for name, published in {"mime-greedy": 2.76, "mime-beam": 3.13, "mime-topk": 1.76}.items():
        assert figure(peers[name], "bleu_4") == pytest.approx(published, abs=0.02)


def test_half_the_set_doubles_distinct_n_and_not_the_fixed_one(peers: dict[str, Outputs]) -> None:
    half = set(peers["empdg"].keys)
    rows = peers["mime-greedy"].rows
    part = tuple(row for row in rows if (row.dialogue, row.turn) in half)
    assert METRICS["distinct_2"].value(part) > 1.5 * METRICS["distinct_2"].value(rows)
    assert METRICS["distinct_2_at"].value(part) == pytest.approx(
        METRICS["distinct_2_at"].value(rows), rel=0.1
    )


def test_two_published_systems_compared(peers: dict[str, Outputs]) -> None:
    result = compare(peers["mime-greedy"], peers["moel"], ["avg_bleu", "distinct_2_at"], resamples=300)
    assert (result.turns, result.dialogues) == (5255, 2545)
    assert result.tests["avg_bleu"].p_holm < 0.05  # MIME is nearer to the reference…
    assert result.tests["avg_bleu"].paired.difference.value > 1
    assert result.tests["distinct_2_at"].p_holm < 0.05  # …and says less
    assert result.tests["distinct_2_at"].paired.difference.value < -4


def test_our_texts_can_be_spelt_as_the_peers_spell_theirs(
    peers: dict[str, Outputs], turns: list[Dialogue]
) -> None:
    corpus = {dialogue.id: dialogue for dialogue in turns}
    rows = peers["moel"].rows
    same = sum(spelt(corpus[row.dialogue].turns[row.turn].text) == row.reference for row in rows)
    assert same / len(rows) > 0.995
