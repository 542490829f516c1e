"""What the document on ResNet50 uses and does not define."""

import os

import paddle

class_dim = 102
BATCH = int(os.environ["BATCH"])


class ResNet:
    def __init__(self, layers):
        self.make = getattr(paddle.vision.models, f"resnet{layers}")

    def net(self, input, class_dim):
        return self.make(num_classes=class_dim)(input)


class resnet:  # noqa: N801 - a module, for the document
    ResNet = ResNet


def get_train_loader(feed_list, place):
    def samples():
        for image, label in paddle.dataset.flowers.train()():
            yield image.reshape(3, 224, 224), label

    loader = paddle.io.DataLoader.from_generator(feed_list=feed_list, capacity=2)
    return loader.set_sample_generator(samples, batch_size=BATCH, places=place)


def optimizer_setting():
    decay = paddle.regularizer.L2Decay(1e-4)
    return paddle.optimizer.Momentum(0.001, momentum=0.9, weight_decay=decay)
