"""A tiny BERT with random weights and a vocabulary of its own, so that the real code path trains in seconds."""

import json
import shutil
from importlib.util import find_spec
from pathlib import Path

import pytest

from heartfelt.labels import EMOTIONS

# torch and transformers are imported inside tests and fixtures: collecting must not wait for them.
WORDS = "i am so happy sad today my dog died cat won the game lost job got a new friend . ! ? what did you say".split()

MARKS = ("<|im_start|>", "<|im_end|>")

ANSWERS = {
    "dog": "what did the dog say ?",
    "cat": "so you got a cat !",
    "game": "you won the game",
    "job": "you lost the job ?",
    "friend": "a new friend !",
}

HEADER = "conv_id,utterance_idx,context,prompt,speaker_idx,utterance,selfeval,tags\n"


@pytest.fixture(autouse=True)
def torch_is_here() -> None:
    if find_spec("torch") is None:
        pytest.skip("needs torch: pip install 'heartfelt[train]'")


@pytest.fixture(scope="session")
def tiny_bert(tmp_path_factory: pytest.TempPathFactory) -> Path:
    from transformers import BertConfig, BertModel, BertTokenizerFast, set_seed

    folder = tmp_path_factory.mktemp("tiny-bert")
    vocabulary = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *WORDS, *"abcdefghijklmnopqrstuvwxyz"]
    vocabulary += [f"##{letter}" for letter in "abcdefghijklmnopqrstuvwxyz"]
    (folder / "vocab.txt").write_text("\n".join(dict.fromkeys(vocabulary)))
    set_seed(0)
    config = BertConfig(
        vocab_size=len(vocabulary), hidden_size=32, num_hidden_layers=2, num_attention_heads=2, intermediate_size=64,
        max_position_embeddings=64,
    )  # fmt: skip
    BertModel(config).save_pretrained(folder)
    BertTokenizerFast(vocab=str(folder / "vocab.txt")).save_pretrained(folder)
    return folder


@pytest.fixture(scope="session")
def tiny_llama(tmp_path_factory: pytest.TempPathFactory) -> Path:
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers
    from transformers import LlamaConfig, LlamaModel, PreTrainedTokenizerFast, set_seed

    from heartfelt.labels import LABELS

    folder = tmp_path_factory.mktemp("tiny-llama")
    words = ["<unk>", *MARKS, "Ċ", "user", "assistant", "[", "]", "Ġ|", "any", "Ġany", "Ġ?"]
    words += [form for word in (*WORDS, *LABELS) for form in (word, f"Ġ{word}")]
    vocabulary = {word: i for i, word in enumerate(dict.fromkeys(words))}
    tokenizer = Tokenizer(models.WordLevel(vocabulary, unk_token="<unk>"))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    tokenizer.add_special_tokens(list(MARKS))
    fast = PreTrainedTokenizerFast(tokenizer_object=tokenizer, eos_token="<|im_end|>", pad_token="<|im_end|>")
    fast.save_pretrained(folder)
    set_seed(0)
    config = LlamaConfig(
        vocab_size=len(vocabulary), hidden_size=32, intermediate_size=64, num_hidden_layers=2, num_attention_heads=2,
        num_key_value_heads=2, max_position_embeddings=128, tie_word_embeddings=True, initializer_range=0.3,
    )  # fmt: skip
    LlamaModel(config).save_pretrained(folder)
    return folder


@pytest.fixture
def calm_bert(tiny_bert: Path, tmp_path: Path) -> Path:
    """The same without dropout: two processes draw other masks than one would."""
    folder = tmp_path / "calm-bert"
    shutil.copytree(tiny_bert, folder)
    config = json.loads((folder / "config.json").read_text())
    config.update(hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.0)
    (folder / "config.json").write_text(json.dumps(config))
    return folder


@pytest.fixture
def moods(tmp_path: Path) -> Path:
    return write_moods(tmp_path / "data")


@pytest.fixture
def talks(tmp_path: Path) -> Path:
    """A data folder whose EmpatheticDialogues tell which reply fits: it names what was named."""
    folder = tmp_path / "data" / "empathetic_dialogues"
    folder.mkdir(parents=True)
    for split, count in (("train", 60), ("valid", 20), ("test", 20)):
        rows = []
        for i in range(count):
            about = list(ANSWERS)[i % len(ANSWERS)]
            mood = ("joyful", "sad")[i % 2]
            text = f"i am {'so ' * (i % 4)}{mood if mood == 'sad' else 'happy'} , my {about}"
            rows.append(f"{split}{i},1,{mood},{text},1,{text},,\n")
            rows.append(f"{split}{i},2,{mood},{text},0,{ANSWERS[about]},,\n")
        (folder / f"{split}.csv").write_text(HEADER + "".join(rows).replace(" , ", " _comma_ "))
    return tmp_path / "data"


def write_moods(data: Path) -> Path:
    """A data folder whose EmpatheticDialogues can be learned: the feeling is named in the text."""
    folder = data / "empathetic_dialogues"
    folder.mkdir(parents=True)
    for split, count in (("train", 64), ("valid", 16), ("test", 16)):
        rows = []
        for i in range(count):
            mood, cause = (("joyful", "happy"), ("sad", "sad"))[i % 2]
            extra = " today" * (i % 5)
            text = f"i am so {cause}{extra} . my {'dog' if i % 3 else 'cat'} {'won' if mood == 'joyful' else 'died'}"
            rows.append(
                f"{split}{i},1,{mood},{text},1,{text} !,,\n{split}{i},2,{mood},{text},0,what did you say ?,,\n"
            )
        (folder / f"{split}.csv").write_text(HEADER + "".join(rows))
    return data


@pytest.fixture
def replies(tmp_path: Path) -> Path:
    return write_replies(tmp_path / "data")


def write_replies(data: Path) -> Path:
    """A data folder whose EmpatheticIntents says the same whatever is felt: only the label of the speaker's last turn
    tells what the reply does."""
    reply = {"joyful": "wishing", "sad": "sympathizing"}
    original, annotated = (
        data / "empathetic_dialogues",
        data / "empathetic_intents/empatheticdialogues_annotated",
    )
    original.mkdir(parents=True)
    annotated.mkdir(parents=True)
    rows = {emotion: ["Dialog_ID,Type,Actor,Text,Label\n"] for emotion in EMOTIONS}
    for split, count in (("train", 64), ("valid", 16), ("test", 16)):
        ids = [f"{split}{i}" for i in range(count)]
        (original / f"{split}.csv").write_text(HEADER + "".join(f"{id_},1,sad,so,1,so,,\n" for id_ in ids))
        for i, id_ in enumerate(ids):
            first, last = (("joyful", "sad")[bit] for bit in (i % 2, i // 2 % 2))
            turns = (
                ("speaker", first),
                ("listener", reply[first]),
                ("speaker", last),
                ("listener", reply[last]),
            )
            rows[first] += [f"{id_},utterance,{who},i am{' so' * (i % 5)},{label}\n" for who, label in turns]
    for emotion in EMOTIONS:
        (annotated / f"{emotion}.csv").write_text("".join(rows[emotion]))
    return data


def write_intents(data: Path) -> Path:
    """The moods, and EmpatheticIntents' classifier sets beside them: situations (22 joyful, 27 sad) and intents."""
    write_moods(data)
    folder = data / "empathetic_intents" / "train_data"
    folder.mkdir(parents=True)
    rows = {
        # "what did you say ?" is what every listener of ED's test split says.
        "train": [
            "22 i am so happy",
            "27 i am so sad",
            "38 What did you say?",
            "38 what happened",
            "39 good luck !",
        ],
        "valid": ["22 so happy today", "27 so sad today", "38 what did you say", "39 good luck then"],
        "test": ["22 my dog won", "27 my cat died", "38 what happened?", "39 best of luck"],
    }
    for split, lines in rows.items():
        (folder / f"{split}.txt").write_text(
            "".join(f"{line.replace(' ', ' <SEP> ', 1)}\n" for line in lines)
        )
    return data


@pytest.fixture
def intents(tmp_path: Path) -> Path:
    return write_intents(tmp_path / "data")
