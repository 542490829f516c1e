"""The benchmark's models in PyTorch on a GPU, each in the variants a careful user would try.

A step takes a batch of the host, pinned, and gives the loss as a number, as Flotilla's does.
"""

import torch

import data
import torch_side
from torch_side import version  # noqa: F401

torch.backends.cuda.matmul.allow_tf32 = True
torch.backends.cudnn.allow_tf32 = True


def build(case, variant, threads):
    """A function that runs one training step and returns the loss."""
    torch.manual_seed(1)
    device = torch.device("cuda")
    make = {name: getattr(torch_side, name) for name in ("mlp", "resnet50", "wide_deep")}[case]
    net, loss_of, _ = make(variant)
    last = variant.startswith("channels_last")
    net = net.to(device, memory_format=torch.channels_last) if last else net.to(device)
    optimizer = optimizer_of(case, net, capturable=variant == "captured")
    batches = data.batches(case)
    pinned = [tuple(torch.from_numpy(one).pin_memory() for one in next(batches)) for _ in range(4)]
    if last:
        pinned = [
            (x.contiguous(memory_format=torch.channels_last).pin_memory(), y) for x, y in pinned
        ]
    places = tuple(one.to(device) for one in pinned[0])
    if variant.endswith("compiled"):
        net = torch.compile(net)
    elif variant == "reduce_overhead":
        net = torch.compile(net, mode="reduce-overhead")
    position = iter(range(1 << 62))

    def train():
        optimizer.zero_grad(set_to_none=True)
        loss = loss_of(net, *places)
        loss.backward()
        optimizer.step()
        return loss

    run = captured(train) if variant == "captured" else train

    def step():
        for place, one in zip(places, pinned[next(position) % 4]):
            place.copy_(one, non_blocking=True)
        return run().item()

    return step


def optimizer_of(case, net, capturable):
    parameters = net.parameters()
    if case == "mlp":
        return torch.optim.Adam(parameters, lr=0.001, fused=True, capturable=capturable)
    if case == "wide_deep":
        return torch.optim.SGD(parameters, lr=0.0001)
    return torch.optim.SGD(parameters, lr=0.0001, momentum=0.9, weight_decay=1e-4, fused=True)


def captured(train):
    """The whole step as one CUDA graph, captured by hand."""
    aside = torch.cuda.Stream()
    aside.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(aside):
        for _ in range(3):
            train()
    torch.cuda.current_stream().wait_stream(aside)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        loss = train()

    def replay():
        graph.replay()
        return loss

    return replay
