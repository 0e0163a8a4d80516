"""The rule that keeps checkpoints, over every small case."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from training.jobs.keeping import Held, best_step, to_prune

CHECKPOINTS = st.lists(
    st.builds(
        Held,
        step=st.integers(1, 50),
        metrics=st.dictionaries(st.sampled_from(["eval_loss", "eval_reward", "loss"]), st.floats(0, 9)),
        needed=st.booleans(),
    ),
    unique_by=lambda each: each.step,
    max_size=12,
)


@given(CHECKPOINTS, st.integers(1, 4))
def test_newest_best_and_needed_stay_and_nothing_else(held: list[Held], last: int) -> None:
    pruned = set(to_prune(held, last=last))
    newest = sorted((each.step for each in held), reverse=True)[:last]
    for each in held:
        stays = each.step in newest or each.step == best_step(held) or each.needed
        assert (each.step not in pruned) == stays


def test_the_best_has_the_highest_reward_or_else_the_lowest_loss() -> None:
    def held(step: int, **metrics: float) -> Held:
        return Held(step, metrics, needed=False)

    assert best_step([]) is None
    assert best_step([held(1, loss=1.0)]) is None
    assert best_step([held(1, eval_loss=2.0), held(2, eval_loss=1.0), held(3, eval_loss=1.0)]) == 2
    assert best_step([held(1, eval_loss=1.0, eval_reward=0.2), held(2, eval_loss=2.0, eval_reward=0.3)]) == 2
