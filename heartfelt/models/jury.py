"""A jury: several readers of a shortlist, each with its own numbers, weighed so that the right reply comes first.

    score = Σ weight · number      numbers: a retrieval run's product, a cross-encoder's fit, a language model's
                                   log-likelihoods of the reply, given what was said and given nothing

The weights are few, and found on the valid split (heartfelt/training/jury.py). A language model is a strong reader:
how much likelier does what was said make this reply (pointwise mutual information; Li et al. 2016)?
"""

from dataclasses import dataclass

from heartfelt.errors import InvalidValue


@dataclass(frozen=True)
class Settings:
    shortlist: str = ""  # the retrieval run whose first replies are read; it is the first reader
    readers: tuple[str, ...] = ()  # runs of cross_encoder, listener_lm, or further retrieval models
    first: int = 10  # so many replies of a hundred are read
    within: float = (
        0.0  # only those whose product is so near the first one's, and no sure first one; 0: all of them
    )
    learn_from: int = 1000  # contexts of valid that the weights are found on

    def __post_init__(self) -> None:
        if self.within < 0:
            raise InvalidValue(f"settings.within is not below 0, as {self.within} is")
        if self.first < 2 or self.learn_from < 2:
            raise InvalidValue("settings: a jury reads at least two replies, and learns from two contexts")
