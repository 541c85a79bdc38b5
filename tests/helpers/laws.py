"""Distributions of labels."""

from skcalrank.calibration import LabelDistribution

PD = "neg_pairwise_disagreement"
# DMJ10, Lemma 10: mean preferences h12 = .5, h13 = 2, h31 = 1, h23 = .15. Low noise.
LEMMA_10 = LabelDistribution(
    [[[0, 1, 4], [0, 0, 0], [0, 0, 0]], [[0, 0, 0], [0, 0, 0.3], [2, 0, 0]]]
)


def random_laws(n, rng, **options):
    for _ in range(n):
        yield LabelDistribution.random(**options, random_state=int(rng.integers(1 << 31)))
