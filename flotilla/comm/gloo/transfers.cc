#include "flotilla/comm/gloo/transfers.h"

#include <utility>

namespace flotilla::comm {

void Transfers::add(int rank, std::unique_ptr<Mesh::Transfer> transfer) {
  const MutexLock lock(mutex_);
  moving_.push_back({rank, std::move(transfer)});
  ++started_;
}

void Transfers::start(int rank, const Part& part) {
  try {
    if (part.recv_bytes > 0) add(rank, mesh_.recv(rank, channel_, part.to, part.recv_bytes));
    if (part.send_bytes > 0) add(rank, mesh_.send(rank, channel_, part.from, part.send_bytes));
  } catch (const std::exception& error) {
    throw Lost(rank, error.what());
  }
}

bool Transfers::wait(int64_t mark) {
  while (arrived_ < mark) {
    Moving* next = nullptr;
    {
      const MutexLock lock(mutex_);
      next = &moving_.front();
    }
    try {
      if (!next->transfer->wait()) return false;
    } catch (const std::exception& error) {
      throw Lost(next->rank, error.what());
    }
    const MutexLock lock(mutex_);
    moving_.pop_front();
    ++arrived_;
  }
  return true;
}

void Transfers::interrupt() {
  const MutexLock lock(mutex_);
  for (const Moving& moving : moving_) moving.transfer->interrupt();
}

void Transfers::forget() {
  const MutexLock lock(mutex_);
  arrived_ = started_;
  moving_.clear();
}

}  // namespace flotilla::comm
