"""The average of a run's last weights."""

from __future__ import annotations

import torch
from torch import nn

from tongguocr.training.averaging import Average


def test_average_is_the_plain_mean_at_first_and_leaves_the_network_alone() -> None:
    model = nn.Linear(1, 1, bias=False)
    average = Average(model, 0.9)
    values = [float(model.weight.detach())]
    for value in (2.0, 5.0):
        with torch.no_grad():
            model.weight.fill_(value)
        average.update()
        values.append(value)
    with average.in_place():
        assert abs(float(model.weight.detach()) - sum(values) / 3) < 1e-6
    assert float(model.weight.detach()) == 5.0


def test_average_forgets_by_its_decay_later() -> None:
    model = nn.Linear(1, 1, bias=False)
    average = Average(model, 0.5)
    with torch.no_grad():
        model.weight.fill_(1.0)
    for _ in range(60):
        average.update()
    assert abs(float(average.mean[0]) - 1.0) < 1e-6


def test_average_goes_on_from_what_was_saved() -> None:
    model = nn.Linear(2, 2)
    average, other = Average(model, 0.9), Average(nn.Linear(2, 2), 0.9)
    average.update()
    other.load_state_dict(average.state_dict())
    assert other.steps == 1
    assert all(torch.equal(a, b) for a, b in zip(average.mean, other.mean, strict=True))
