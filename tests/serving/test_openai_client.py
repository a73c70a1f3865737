"""The official client, unchanged, against a running server."""

from collections.abc import Iterator

import openai
import pytest

from tests.serving.conftest import STEERED, TEXT, Speaks, serving

SAD = [{"role": "user", "content": "My dog died last night and the house is so quiet."}]


@pytest.fixture
def client(url: str) -> Iterator[openai.OpenAI]:
    with openai.OpenAI(base_url=f"{url}/v1", api_key="none", max_retries=0) as made:
        yield made


def test_a_reply(client: openai.OpenAI) -> None:
    made = client.chat.completions.create(model="heartfelt", messages=SAD)
    (choice,) = made.choices
    assert choice.message.content is not None
    assert choice.message.content.startswith(TEXT) or choice.message.content in STEERED.values()
    assert choice.finish_reason == "stop"
    assert made.usage is not None
    assert made.usage.prompt_tokens == 12  # by hand: my dog died last night and the house is so quiet .
    assert made.usage.total_tokens == made.usage.prompt_tokens + made.usage.completion_tokens
    assert choice.model_extra is not None
    assert choice.model_extra["heartfelt"]["safety"] == {"action": "pass", "reasons": []}
    assert choice.model_extra["heartfelt"]["emotion"] in ("sad", "devastated", "lonely")
    assert "emotions" not in choice.model_extra["heartfelt"]


def test_it_is_steered_and_says_why(client: openai.OpenAI) -> None:
    extra = {"heartfelt": {"intent": "questioning", "emotion": "lonely", "why": True, "candidates": 3}}
    made = client.chat.completions.create(model="heartfelt", messages=SAD, extra_body=extra)
    why = made.choices[0].model_extra["heartfelt"]  # type: ignore[index]
    assert made.choices[0].message.content == why["candidates"][0]["text"]
    assert STEERED["questioning"] in {one["text"] for one in why["candidates"]}
    assert len(why["candidates"]) == 3
    assert why["emotions"] == {"lonely": 1.0}
    assert why["plan"] == "questioning"
    assert set(why["timings"]) == {"guard", "recognise", "respond", "rank"}


def test_streamed_to_the_end(client: openai.OpenAI) -> None:
    options = {"include_usage": True}
    extra = {"heartfelt": {"intent": "agreeing", "why": True}}
    chunks = list(
        client.chat.completions.create(
            model="heartfelt",
            messages=SAD,
            stream=True,
            stream_options=options,
            extra_body=extra,  # type: ignore[call-overload]
        )
    )
    pieces = [chunk.choices[0].delta.content for chunk in chunks if chunk.choices]
    assert "".join(piece or "" for piece in pieces).strip() == TEXT
    assert len([piece for piece in pieces if piece]) == 2  # a sentence a time, as the guard lets pass
    assert chunks[0].choices[0].delta.role == "assistant"
    last = [chunk for chunk in chunks if chunk.choices][-1].choices[0]
    assert last.finish_reason == "stop"
    assert last.model_extra["heartfelt"]["plan"] == "agreeing"
    assert chunks[-1].usage.completion_tokens == 13
    assert len({chunk.id for chunk in chunks}) == 1


def test_several_choices(client: openai.OpenAI) -> None:
    made = client.chat.completions.create(model="heartfelt", messages=SAD, n=3, seed=5)
    assert [choice.index for choice in made.choices] == [0, 1, 2]
    chunks = client.chat.completions.create(model="heartfelt", messages=SAD, n=2, stream=True)
    said = {0: "", 1: ""}
    for chunk in chunks:
        for choice in chunk.choices:
            said[choice.index] += choice.delta.content or ""
    assert said[0].strip()
    assert said[1].strip()


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize(
    ("stop", "left"),
    [
        ("sorry", "I am so"),
        (["What was", "zzz"], "I am so sorry to hear it."),
        ("it. W", "I am so sorry to hear"),
    ],
)
def test_stop(client: openai.OpenAI, stream: bool, stop: str | list[str], left: str) -> None:
    extra = {"heartfelt": {"intent": "agreeing", "candidates": 1}}
    made = client.chat.completions.create(  # type: ignore[call-overload]
        model="heartfelt", messages=SAD, stop=stop, stream=stream, extra_body=extra
    )
    if stream:
        text = "".join(chunk.choices[0].delta.content or "" for chunk in made)
    else:
        text = made.choices[0].message.content
    assert text.strip() == left


def test_what_is_asked_reaches_the_generator(warm: None) -> None:
    speaks = Speaks()
    with serving(speaks) as address, openai.OpenAI(base_url=f"{address}/v1", api_key="x") as client:
        talk = [
            {"role": "system", "content": "Speak like a pirate."}, {"role": "user", "content": "I lost my job."},
            {"role": "assistant", "content": "Oh no."}, {"role": "user", "content": [{"type": "text", "text": "Yes."}]},
        ]  # fmt: skip
        client.chat.completions.create(
            model="heartfelt", messages=talk, temperature=0.3, seed=11, max_tokens=7, top_p=0.5
        )  # type: ignore[arg-type]
    dialogue, _, decoding = speaks.asked[0]
    assert [(turn.speaker, turn.text) for turn in dialogue.turns] == [
        ("speaker", "I lost my job."), ("listener", "Oh no."), ("speaker", "Yes."),
    ]  # fmt: skip
    assert (decoding.temperature, decoding.seed, decoding.max_tokens, decoding.top_p) == (0.3, 11, 7, 0.5)


def test_models_and_embeddings(client: openai.OpenAI) -> None:
    assert [model.id for model in client.models.list()] == [
        "heartfelt",
        "heartfelt-encoder",
        "heartfelt-matcher",
    ]
    assert client.models.retrieve("heartfelt").id == "heartfelt"
    texts = ["My dog died.", "My cat passed away.", "I won the lottery!"]
    packed = client.embeddings.create(model="heartfelt-matcher", input=texts)  # the client asks for base64
    plain = client.embeddings.create(model="heartfelt-matcher", input=texts, encoding_format="float")
    a, b, c = (one.embedding for one in plain.data)
    assert [one.embedding for one in packed.data] == [pytest.approx(one.embedding) for one in plain.data]
    assert sum(x * x for x in a) == pytest.approx(1, abs=1e-4)
    assert sum(x * y for x, y in zip(a, b, strict=True)) > sum(x * y for x, y in zip(a, c, strict=True))


def test_a_crisis_is_answered_by_the_guard(client: openai.OpenAI) -> None:
    made = client.chat.completions.create(
        model="heartfelt", messages=[{"role": "user", "content": "I want to kill myself tonight."}]
    )
    choice = made.choices[0]
    assert "116 123" in (choice.message.content or "")
    assert choice.model_extra["heartfelt"]["safety"]["action"] == "refer"  # type: ignore[index]


def test_errors_are_the_clients_own(client: openai.OpenAI) -> None:
    with pytest.raises(openai.NotFoundError, match="There is no model 'gpt-9'"):
        client.chat.completions.create(model="gpt-9", messages=SAD)
    with pytest.raises(openai.BadRequestError, match="Did you mean 'questioning'"):
        client.chat.completions.create(
            model="heartfelt", messages=SAD, extra_body={"heartfelt": {"intent": "question"}}
        )
    with pytest.raises(openai.BadRequestError, match="should be the user's"):
        client.chat.completions.create(model="heartfelt", messages=[{"role": "assistant", "content": "Hi."}])
    with pytest.raises(openai.BadRequestError, match="no tools"):
        tool = {"type": "function", "function": {"name": "x"}}
        client.chat.completions.create(model="heartfelt", messages=SAD, tools=[tool])  # type: ignore[list-item]
    with pytest.raises(openai.BadRequestError, match="Heartfelt reads text, no image_url"):
        image = [{"type": "image_url", "image_url": {"url": "data:"}}]
        client.chat.completions.create(model="heartfelt", messages=[{"role": "user", "content": image}])  # type: ignore[list-item]
    with pytest.raises(openai.BadRequestError, match=r"heartfelt\.wy"):
        client.chat.completions.create(model="heartfelt", messages=SAD, extra_body={"heartfelt": {"wy": 1}})
