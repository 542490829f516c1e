"""Curves of a training, as the programs of the PaddlePaddle book draw them."""

import os


__all__ = ["Ploter"]


class PlotData:
    """The points of one curve."""

    def __init__(self):
        self.reset()

    def append(self, step, value):
        """Add a point."""
        self.step.append(step)
        self.value.append(value)

    def reset(self):
        """Forget all points."""
        self.step, self.value = [], []


class Ploter:
    """Curves with these titles, drawn by matplotlib.

    Without it, or with DISABLE_PLOT=True in the environment, points are kept and not drawn.
    """

    def __init__(self, *args):
        self._titles = args
        self._curves = {title: PlotData() for title in args}
        self._pyplot = None
        if not self.__plot_is_disabled__():
            try:
                from matplotlib import pyplot
            except ImportError:
                pyplot = None
            self._pyplot = pyplot

    def __plot_is_disabled__(self):
        return os.environ.get("DISABLE_PLOT") == "True"

    def append(self, title, step, value):
        """Add a point to the curve of a title."""
        if title not in self._curves:
            raise ValueError(f"there is no curve {title!r}, only {list(self._titles)}")
        self._curves[title].append(step, value)

    def plot(self, path=None):
        """Draw the curves, into a file where a path is given."""
        if self._pyplot is None:
            return
        drawn = [title for title in self._titles if self._curves[title].step]
        for title in drawn:
            self._pyplot.plot(self._curves[title].step, self._curves[title].value)
        self._pyplot.legend(drawn, loc="upper left")
        if path is None:
            self._pyplot.show()
        else:
            self._pyplot.savefig(path)
        self._pyplot.gcf().clear()

    def reset(self):
        """Forget all points."""
        for curve in self._curves.values():
            curve.reset()
