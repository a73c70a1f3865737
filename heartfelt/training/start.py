"""A training that starts from another one's weights: pre-train, then fine-tune; or learn on from a shipped stage."""

from transformers import AutoTokenizer, PreTrainedModel
from transformers import PreTrainedTokenizerBase as Tokenizer

from heartfelt.models import module_of
from heartfelt.recipe import BadRecipe
from heartfelt.training.run import Run
from heartfelt.training.tasks import Task


def start_from(run: Run, model: PreTrainedModel, tokenizer: Tokenizer, task: Task) -> None:
    """Give a new model a finished run's weights. Heads that the run lacks, or has for other labels, stay as drawn."""
    if AutoTokenizer.from_pretrained(run.folder / "model").get_vocab() != tokenizer.get_vocab():
        raise BadRecipe(f"start: {run.folder} has another vocabulary than this recipe's checkpoint")
    foreign = tuple(
        f"heads.layers.{head}."
        for head, labels in task.heads.items()
        if tuple(run.labels.get(head, ())) != tuple(labels)
    )
    given = {
        name: weights
        for name, weights in module_of(run.recipe.model).load(run.folder / "model").state_dict().items()
        if not name.startswith(foreign)
    }
    own = model.state_dict()
    known = {name: weights for name, weights in given.items() if name in own}
    if shaped := [name for name, weights in known.items() if weights.shape != own[name].shape]:
        raise BadRecipe(f"start: {run.folder} has another size at {shaped[0]}")
    missing = [name for name in own if name not in known and not name.startswith("heads.")]
    if missing:
        raise BadRecipe(f"start: {run.folder} is another model, it has no {missing[0]}")
    model.load_state_dict(known, strict=False)
