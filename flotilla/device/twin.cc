#include "flotilla/device/twin.h"

namespace flotilla {

void* Twin::on(Backend& device, DeviceUse use) {
  const MutexLock lock(mutex_);
  if (device_ != &device) {
    if (!host_counts_) {
      const Backend::Turn other = device_->enter();
      read_back();
    }
    const Backend::Turn again = device.enter();  // what the thread works on is the other one
    memory_ = device.allocate(bytes_);
    device_ = &device;
    kept_ = device.weak_from_this().lock();
    device_counts_ = false;
  }
  if (!device_counts_ && use != DeviceUse::kReplace) device.write(memory_->data(), host_, bytes_);
  device_counts_ = true;
  if (use != DeviceUse::kRead) host_counts_ = false;
  return memory_->data();
}

void Twin::take_back() {
  Backend* device = nullptr;
  {
    const MutexLock lock(mutex_);
    if (!device_counts_) return;
    device = device_;
  }
  // A run holds its turn when it asks for twins: so does whoever asks first for a twin.
  const Backend::Turn turn = device->enter();
  const MutexLock lock(mutex_);
  read_back();
  device_counts_ = false;
}

void Twin::read_back() {
  if (host_counts_) return;
  device_->read(host_, memory_->data(), bytes_);
  host_counts_ = true;
}

}  // namespace flotilla
