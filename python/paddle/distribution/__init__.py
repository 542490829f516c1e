"""Distributions of random numbers: what they give, how likely it is, how they differ."""

from .distributions import Categorical, Distribution, Normal, Uniform
from .kl import kl_divergence, register_kl

__all__ = ["Categorical", "Distribution", "Normal", "Uniform", "kl_divergence", "register_kl"]
