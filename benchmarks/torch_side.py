"""The benchmark's models in PyTorch, each in the variants a careful user would try."""

import torch
import torch.nn.functional as F
from torch import nn

import data


def version():
    return torch.__version__


def build(case, variant, threads, parallel=False):
    """A function that runs one training step and returns the loss; `parallel`: with other ranks."""
    torch.set_num_threads(threads)
    torch.manual_seed(1)
    make = {"mlp": mlp, "resnet50": resnet50, "wide_deep": wide_deep}[case]
    net, loss_of, optimizer = make(variant)
    batches = data.batches(case)
    ready = [tuple(torch.from_numpy(array) for array in next(batches)) for _ in range(4)]
    if "channels_last" in variant:
        net = net.to(memory_format=torch.channels_last)
        ready = [(x.contiguous(memory_format=torch.channels_last), y) for x, y in ready]
    if variant.endswith("compiled"):
        net = torch.compile(net)
    if parallel:
        torch.distributed.init_process_group("gloo")
        net = nn.parallel.DistributedDataParallel(net)
    position = iter(range(1 << 62))

    def step():
        optimizer.zero_grad(set_to_none=True)
        loss = loss_of(net, *ready[next(position) % 4])
        loss.backward()
        optimizer.step()
        return loss.item()

    return step


def classification(net, x, y):
    return F.cross_entropy(net(x), y[:, 0])


def mlp(variant):
    hidden = [nn.Linear(784, 128), nn.Tanh(), nn.Linear(128, 128), nn.Tanh()]
    net = nn.Sequential(nn.Flatten(), *hidden, nn.Linear(128, 10))
    how = {"eager": {}, "foreach": {"foreach": True}}.get(variant, {"fused": True})
    return net, classification, torch.optim.Adam(net.parameters(), lr=0.001, **how)


class Bottleneck(nn.Module):
    def __init__(self, channels, width, stride):
        super().__init__()
        self.branch = nn.Sequential(
            *conv_bn(channels, width, 1, 1), nn.ReLU(inplace=True),
            *conv_bn(width, width, 3, stride), nn.ReLU(inplace=True),
            *conv_bn(width, width * 4, 1, 1),
        )  # fmt: skip
        same = channels == width * 4 and stride == 1
        self.shortcut = nn.Sequential(*([] if same else conv_bn(channels, width * 4, 1, stride)))

    def forward(self, x):
        return F.relu(self.branch(x) + self.shortcut(x), inplace=True)


def conv_bn(before, after, size, stride):
    conv = nn.Conv2d(before, after, size, stride, padding=(size - 1) // 2, bias=False)
    return conv, nn.BatchNorm2d(after)


def resnet50(variant):
    layers = [*conv_bn(3, 64, 7, 2), nn.ReLU(inplace=True), nn.MaxPool2d(3, 2, padding=1)]
    channels = 64
    for stage, count in enumerate((3, 4, 6, 3)):
        width = 64 << stage
        for i in range(count):
            layers.append(Bottleneck(channels, width, 2 if i == 0 and stage > 0 else 1))
            channels = width * 4
    net = nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(2048, 102))
    settings = {"lr": 0.0001, "momentum": 0.9, "weight_decay": 1e-4, "fused": True}
    return net, classification, torch.optim.SGD(net.parameters(), **settings)


class WideDeep(nn.Module):
    """All slots in one lookup: what a PyTorch user would write for a shared table."""

    def __init__(self):
        super().__init__()
        self.table = nn.Embedding(data.TABLE_ROWS, data.EMBEDDING, sparse=True)
        self.wide = nn.Linear(data.DENSE, 1)
        widths = [data.SLOTS * data.EMBEDDING + data.DENSE, *data.LAYERS]
        layers = [[nn.Linear(a, b), nn.ReLU()] for a, b in zip(widths, widths[1:])]
        self.deep = nn.Sequential(*sum(layers, []), nn.Linear(widths[-1], 1))

    def forward(self, ids, dense):
        features = torch.cat([self.table(ids).flatten(1), dense], 1)
        return torch.sigmoid(self.wide(dense) + self.deep(features))


def log_loss(net, ids, dense, label):
    p, y = net(ids, dense), label.float()
    return -(y * torch.log(p + 1e-4) + (1 - y) * torch.log(1 - p + 1e-4)).mean()


def wide_deep(variant):
    net = WideDeep()
    return net, log_loss, torch.optim.SGD(net.parameters(), lr=0.0001)
