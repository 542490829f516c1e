#include "flotilla/device/twin.h"

#include <gmock/gmock.h>

#include <cstring>

#include "flotilla/testing/fake_device.h"

namespace flotilla {
namespace {

using testing::FakeDevice;

class TwinTest : public ::testing::Test {
 protected:
  // What the device has at an address.
  int there(void* data) {
    int value = 0;
    device.read(&value, data, sizeof value);
    return value;
  }
  int& here() { return *static_cast<int*>(buffer->data()); }

  FakeDevice device{{}};
  std::shared_ptr<Buffer> buffer = Buffer::make(sizeof(int));
};

TEST_F(TwinTest, ADeviceHasWhatTheHostWroteLast) {
  here() = 5;
  void* const twin = buffer->on(device, DeviceUse::kRead);
  EXPECT_EQ(there(twin), 5);
  here() = 6;
  EXPECT_EQ(buffer->on(device, DeviceUse::kRead), twin) << "its place stays";
  EXPECT_EQ(there(twin), 6);
}

TEST_F(TwinTest, TheHostHasWhatTheDeviceWroteLast) {
  const int seven = 7;
  device.write(buffer->on(device, DeviceUse::kChange), &seven, sizeof seven);
  EXPECT_EQ(here(), 7);
}

TEST_F(TwinTest, NothingIsCopiedTwice) {
  buffer->on(device, DeviceUse::kRead);
  buffer->on(device, DeviceUse::kChange);
  buffer->on(device, DeviceUse::kRead);
  EXPECT_EQ(device.counts().writes, 1);
  here();
  here();
  EXPECT_EQ(device.counts().reads, 1);
}

TEST_F(TwinTest, WhatIsReplacedIsNotCopiedBefore) {
  buffer->on(device, DeviceUse::kReplace);
  EXPECT_EQ(device.counts().writes, 0);
}

TEST_F(TwinTest, AnotherDeviceGetsWhatTheFirstWrote) {
  FakeDevice other{{}};
  const int eight = 8;
  device.write(buffer->on(device, DeviceUse::kChange), &eight, sizeof eight);
  int found = 0;
  other.read(&found, buffer->on(other, DeviceUse::kRead), sizeof found);
  EXPECT_EQ(found, 8);
}

}  // namespace
}  // namespace flotilla
