"""Data sets, transforms and models for images."""

from . import datasets, image, transforms  # noqa: F401
from .image import get_image_backend, image_load, set_image_backend

__all__ = ["get_image_backend", "image_load", "set_image_backend"]
