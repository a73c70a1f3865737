"""A reply by the whole agent beside its bare parts: tokens a second and latency, as ratios in one run; peak memory.

The same base weights everywhere: llama.cpp in this process (what the agent uses), llama.cpp alone, and transformers'
generate() in torch. Needs the base weights (heartfelt models pull smollm2), [chat], and for the last row [train]. Each
system runs in a process of its own, so that its peak memory is its own.
"""

import json
import resource
import subprocess
import sys
import time
from collections.abc import Callable

MESSAGES = [
    "I finally got the job that I wanted!",
    "My dog died last night and the house is so quiet now.",
    "Somebody took my parking place again today.",
    "We are moving to another town next month and I do not know anybody there.",
    "What did you have for lunch?",
    "My sister forgot my birthday again.",
] * 2
TOKENS = 40


def agent(candidates: int) -> Callable[[str], int]:
    from heartfelt.agent.agent import Settings
    from heartfelt.agent.generator import Decoding
    from heartfelt.agent.load import load

    settings = Settings(candidates, Decoding(max_tokens=TOKENS, seed=1))
    made = load(settings=settings, known=False)  # that it writes is what is measured

    def reply(message: str) -> int:
        return sum(len(candidate.text.split()) for candidate in made.reply(message).candidates)

    return reply


def bare_llama() -> Callable[[str], int]:
    from heartfelt.agent.generator import Decoding, Wish
    from heartfelt.agent.listen import as_dialogue
    from heartfelt.agent.load import generator

    model = generator(None)

    def reply(message: str) -> int:
        said = model.say(as_dialogue(message), Wish(), 1, Decoding(max_tokens=TOKENS, seed=1))
        return len(said[0].text.split())

    return reply


def unmerged_llama() -> Callable[[str], int]:
    from heartfelt.agent.generator import Decoding, Wish
    from heartfelt.agent.listen import as_dialogue
    from heartfelt.agent.llama import LlamaCpp
    from heartfelt.agent.load import ADAPTER
    from heartfelt.models.weights import pull

    model = LlamaCpp(pull("smollm2"), ADAPTER)

    def reply(message: str) -> int:
        said = model.say(as_dialogue(message), Wish(), 1, Decoding(max_tokens=TOKENS, seed=1))
        return len(said[0].text.split())

    return reply


def by_transformers() -> Callable[[str], int]:
    import torch
    from transformers import AutoModelForCausalLM

    from heartfelt.agent.listen import as_dialogue
    from heartfelt.models.backbone import load_encoder, load_tokenizer
    from heartfelt.models.prompt import END, prompt

    encoder, tokenizer = load_encoder("smollm2"), load_tokenizer("smollm2")
    model = AutoModelForCausalLM.from_config(encoder.config)
    model.model = encoder
    model.tie_weights()
    model.eval()
    end = tokenizer.convert_tokens_to_ids(END)

    def reply(message: str) -> int:
        asked = tokenizer(
            prompt(as_dialogue(message), None, None), return_tensors="pt", add_special_tokens=False
        )
        with torch.no_grad():
            found = model.generate(
                **asked, max_new_tokens=TOKENS, do_sample=True, temperature=0.8, top_k=40, top_p=0.9,
                repetition_penalty=1.1, eos_token_id=end, pad_token_id=end,
            )  # fmt: skip
        text = tokenizer.decode(found[0, asked["input_ids"].shape[1] :], skip_special_tokens=True)
        return len(text.split())

    return reply


SYSTEMS: dict[str, Callable[[], Callable[[str], int]]] = {
    "llama.cpp alone": bare_llama,
    "llama.cpp, adapter not merged": unmerged_llama,
    "agent, 1 candidate": lambda: agent(1),
    "agent, 4 candidates": lambda: agent(4),
    "transformers.generate": by_transformers,
}


def measure(name: str) -> dict[str, float]:
    started = time.perf_counter()
    reply = SYSTEMS[name]()
    reply(MESSAGES[0])
    first = time.perf_counter() - started
    words, times = 0, []
    for message in MESSAGES:
        started = time.perf_counter()
        words += reply(message)
        times.append(time.perf_counter() - started)
    return {
        "first": first,
        "latency": sorted(times)[len(times) // 2],
        "words": words / sum(times),
        "memory": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
    }


def main() -> None:
    if len(sys.argv) == 2:
        print(json.dumps(measure(sys.argv[1])))
        return
    found: dict[str, dict[str, float]] = {}
    for name in SYSTEMS:
        done = subprocess.run([sys.executable, __file__, name], capture_output=True, text=True)
        if done.returncode:
            print(f"{name}: skipped: {done.stderr.strip().splitlines()[-1]}")
            continue
        found[name] = json.loads(done.stdout.strip().splitlines()[-1])
    base = found.get("llama.cpp alone")
    print(f"{'system':<24}{'latency':>10}{'words/s':>10}{'ratio':>8}{'first reply':>13}{'peak MB':>9}")
    for name, one in found.items():
        ratio = f"{one['words'] / base['words']:.2f}" if base else ""
        cells = f"{one['latency']:>8.2f} s{one['words']:>10.1f}{ratio:>8}{one['first']:>11.2f} s"
        print(f"{name:<24}{cells}{one['memory']:>9.0f}")


if __name__ == "__main__":
    main()
