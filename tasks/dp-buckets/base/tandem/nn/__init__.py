"""Modules with a backward written by hand."""

from tandem.nn.layers import Embedding, LayerNorm, Linear, ReLU, Scale, Sequential, Switch, Tanh
from tandem.nn.loss import CrossEntropyLoss, MSELoss
from tandem.nn.module import Module
from tandem.nn.parameter import Parameter

__all__ = [
    "CrossEntropyLoss",
    "Embedding",
    "LayerNorm",
    "Linear",
    "MSELoss",
    "Module",
    "Parameter",
    "ReLU",
    "Scale",
    "Sequential",
    "Switch",
    "Tanh",
]
