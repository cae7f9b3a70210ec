"""Optuna's grouped multivariate TPE that samples only the group it needs.

Optuna works out the groups anew for every trial, samples the knobs of every structure, and uses those of one. The
groups are known here beforehand, and proposals are drawn from the same densities at a cost that does not grow with
the structures.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from optuna.distributions import BaseDistribution
    from optuna.samplers import TPESampler


def lazy_tpe(seed: int, shared: str, seen: dict[str, BaseDistribution]) -> TPESampler:
    """A sampler for a space in which parameter `shared` chooses between groups named `<value>.<name>`.

    Args:
        seed: of the sampler.
        shared: name of the choosing parameter.
        seen: parameters of finished trials, which the caller keeps up to date; others are drawn at random.
    """
    import warnings

    from optuna.exceptions import ExperimentalWarning
    from optuna.samplers import TPESampler

    class LazyTpe(TPESampler):
        def infer_relative_search_space(self, study: Any, trial: Any) -> dict[str, BaseDistribution]:
            return {name: one for name, one in seen.items() if not one.single()}

        def sample_relative(self, study: Any, trial: Any, search_space: dict[str, Any]) -> dict[str, Any]:
            chosen = {name: one for name, one in search_space.items() if name == shared}
            params = self._sample_relative(study, trial, chosen)
            if shared not in params:
                return {}
            group = f"{params[shared]}."
            knobs = {name: one for name, one in sorted(search_space.items()) if name.startswith(group)}
            return params | self._sample_relative(study, trial, knobs)

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ExperimentalWarning)
        return LazyTpe(multivariate=True, group=True, seed=seed)
