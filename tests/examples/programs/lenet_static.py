"""A convolutional net of the 2.x era: paddle.nn layers in a static program."""

import sys

import numpy as np
import paddle
import paddle.nn as nn
import paddle.nn.functional as F
from paddle.vision.transforms import Compose, Normalize, Transpose

STEPS = int(sys.argv[1]) if len(sys.argv) > 1 else 200


class LeNet(nn.Layer):
    def __init__(self, num_classes=10):
        super().__init__()
        self.features = nn.Sequential(
            nn.Conv2D(1, 6, 3, stride=1, padding=1),
            nn.ReLU(),
            nn.MaxPool2D(2, 2),
            nn.Conv2D(6, 16, 5, stride=1, padding=0),
            nn.BatchNorm2D(16),
            nn.ReLU(),
            nn.MaxPool2D(2, 2),
        )
        self.fc1 = nn.Linear(400, 120, weight_attr=nn.initializer.KaimingUniform())
        self.fc2 = nn.Linear(120, 84)
        self.fc3 = nn.Linear(84, num_classes, bias_attr=paddle.ParamAttr(name="last_bias"))
        self.dropout = nn.Dropout(0.1)

    def forward(self, inputs):
        x = self.features(inputs)
        x = paddle.flatten(x, 1)
        x = F.relu(self.fc1(x))
        x = self.dropout(F.relu(self.fc2(x)))
        return self.fc3(x)


def main():
    paddle.enable_static()
    paddle.seed(2021)
    np.random.seed(2021)
    main_program = paddle.static.Program()
    startup_program = paddle.static.Program()
    with paddle.static.program_guard(main_program, startup_program):
        image = paddle.static.data(name="image", shape=[None, 1, 28, 28], dtype="float32")
        label = paddle.static.data(name="label", shape=[None, 1], dtype="int64")
        model = LeNet()
        logits = model(image)
        loss = F.cross_entropy(logits, label)
        acc = paddle.metric.accuracy(F.softmax(logits), label)
        test_program = main_program.clone(for_test=True)
        scheduler = paddle.optimizer.lr.CosineAnnealingDecay(learning_rate=0.002, T_max=STEPS)
        optimizer = paddle.optimizer.AdamW(
            learning_rate=scheduler,
            weight_decay=0.01,
            grad_clip=paddle.nn.ClipGradByGlobalNorm(5.0),
        )
        optimizer.minimize(loss)
    print("parameters: %d" % sum(int(np.prod(p.shape)) for p in model.parameters()))

    transform = Compose([Transpose(), Normalize(mean=[127.5], std=[127.5])])
    train_set = paddle.vision.datasets.MNIST(mode="train", transform=transform)
    test_set = paddle.io.Subset(
        paddle.vision.datasets.MNIST(mode="test", transform=transform), range(1000)
    )
    places = paddle.static.cpu_places(1)
    train_loader = paddle.io.DataLoader(
        train_set, feed_list=[image, label], places=places, batch_size=64, shuffle=True,
        drop_last=True, return_list=False,
    )  # fmt: skip
    test_loader = paddle.io.DataLoader(
        test_set, feed_list=[image, label], places=places, batch_size=100, return_list=False
    )
    exe = paddle.static.Executor(places[0])
    exe.run(startup_program)
    for step, data in enumerate(train_loader()):
        loss_value, acc_value = exe.run(main_program, feed=data, fetch_list=[loss, acc])
        scheduler.step()
        if step % 50 == 0:
            print(
                f"step {step}, loss {float(loss_value):.4f}, acc {float(acc_value):.4f}, lr {optimizer.get_lr():.6f}"
            )
        if step == STEPS:
            break
    values = [exe.run(test_program, feed=data, fetch_list=[acc])[0] for data in test_loader()]
    print(f"test acc {np.mean(values):.4f}")

    paddle.static.save_inference_model("lenet_static", [image], [logits], exe, program=main_program)
    program, feeds, fetches = paddle.static.load_inference_model("lenet_static", exe)
    sample = np.stack([test_set[i][0] for i in range(5)])
    (found,) = exe.run(program, feed={feeds[0]: sample}, fetch_list=fetches)
    print("shape of what is inferred:", found.shape)


main()
