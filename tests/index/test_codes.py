"""16 bits tell log-probabilities apart, and evidence is what its formula says."""

from __future__ import annotations

import numpy as np

from visterm.index.codes import encoded, log_evidence, magnitudes, odds_codes


def test_magnitudes_are_near_what_was_encoded() -> None:
    wanted = np.geomspace(2e-8, 60, 5000)
    assert np.abs(magnitudes()[encoded(wanted)] / wanted - 1).max() < 2**-12


def test_codes_order_as_log_odds_do() -> None:
    odds = np.sort(np.random.default_rng(0).uniform(-40, 40, 10_000))
    values = -magnitudes()[odds_codes(odds)]
    assert (np.diff(values) >= 0).all()
    inside = np.abs(odds) < 15
    exact = -np.logaddexp(0, -odds[inside])
    assert np.abs(values[inside] / exact - 1).max() < 2e-3


def test_evidence_is_its_formula() -> None:
    p, kappa, r, doubt = 0.3, 0.99, 0.45, 0.1
    magnitude = np.array([-np.log(p)])

    def told(**about: float | bool) -> float:
        return float(np.exp(log_evidence(magnitude, **about)[0]))  # type: ignore[arg-type]

    assert np.isclose(told(is_wanted=True), p)
    assert np.isclose(told(is_wanted=True, certainty=kappa), 1 - (1 - kappa) * (1 - p))
    assert np.isclose(told(is_wanted=True, omitted=r), (1 - r) * p)
    assert np.isclose(told(is_wanted=True, omitted=r, doubt=doubt), 1 - doubt * (1 - (1 - r) * p))
    assert np.isclose(told(is_wanted=False), 1 - p)
    assert np.isclose(told(is_wanted=False, certainty=kappa), (1 - kappa) * (1 - p))
