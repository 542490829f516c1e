"""What made programs for inference faster before 1.6; plans fuse operators by themselves."""

__all__ = ["InferenceTranspiler"]


class InferenceTranspiler:
    """Keeps a program for inference as it is: when it runs, its plan fuses what can be fused."""

    def transpile(self, program, place, scope=None):
        """Nothing is left to do; the results are the same in Paddle, too."""
