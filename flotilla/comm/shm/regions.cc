#include "flotilla/comm/shm/regions.h"

#include <sys/mman.h>
#include <sys/stat.h>

#include <cerrno>
#include <cstring>

#include "flotilla/base/error.h"

namespace flotilla::comm {
namespace {

// Numbers of boards do not meet those of regions.
constexpr uint64_t kBoards = uint64_t{1} << 63;

[[noreturn]] void fail(std::string_view what, int64_t bytes) {
  throw Error(ErrorKind::kUnavailable,
              fmt::format("{} bytes of shared memory for the ranks of this host cannot be {}: {}",
                          bytes, what, std::strerror(errno)));
}

}  // namespace

class Regions::Mapping {
 public:
  // Our own: new and zeroed.
  explicit Mapping(int64_t bytes) : fd_(::memfd_create("flotilla", MFD_CLOEXEC)), bytes_(bytes) {
    if (!fd_ || ::ftruncate(fd_.get(), bytes) != 0) fail("made", bytes);
    map();
  }
  // A neighbour's.
  Mapping(Fd fd, int64_t bytes) : fd_(std::move(fd)), bytes_(bytes) {
    struct stat found = {};
    require(::fstat(fd_.get(), &found) == 0 && found.st_size >= bytes,
            "a neighbour shows {} bytes of memory, but gave {}", bytes, found.st_size);
    map();
  }
  ~Mapping() { ::munmap(data_, static_cast<size_t>(bytes_)); }
  Mapping(const Mapping&) = delete;
  Mapping& operator=(const Mapping&) = delete;

  char* data() const { return static_cast<char*>(data_); }
  int64_t bytes() const { return bytes_; }
  int fd() const { return fd_.get(); }

 private:
  void map() {
    data_ = ::mmap(nullptr, static_cast<size_t>(bytes_), PROT_READ | PROT_WRITE, MAP_SHARED,
                   fd_.get(), 0);
    if (data_ == MAP_FAILED) fail("mapped", bytes_);
    ::madvise(data_, static_cast<size_t>(bytes_), MADV_HUGEPAGE);  // where the system has them
    // All pages at once, now: one by one, each first touch is a trap in the first exchange.
    ::madvise(data_, static_cast<size_t>(bytes_), MADV_POPULATE_WRITE);
  }

  Fd fd_;
  int64_t bytes_;
  void* data_ = nullptr;
};

std::shared_ptr<Buffer> Regions::allocate(int64_t bytes) {
  if (bytes == 0) return Buffer::make(0);
  const auto memory = std::make_shared<Mapping>(bytes);
  uint64_t region = 0;
  {
    const MutexLock lock(mutex_);
    region = ++last_;
    own_[region] = {.memory = memory};
  }
  const std::shared_ptr<void> owner(
      memory->data(), [self = shared_from_this(), region](void*) { self->retire(region); });
  return Buffer::borrow(memory->data(), bytes, owner);
}

void Regions::retire(uint64_t region) {
  const MutexLock lock(mutex_);
  if (own_.at(region).shown) retired_.push_back(region);
  own_.erase(region);
}

Place Regions::show(const void* data, int64_t bytes) {
  const MutexLock lock(mutex_);
  const char* begin = static_cast<const char*>(data);
  for (auto& [region, own] : own_) {
    const Mapping& memory = *own.memory;
    if (begin < memory.data() || begin + bytes > memory.data() + memory.bytes()) continue;
    if (!own.shown) {
      bool all = true;
      for (const int rank : neighbours_.here()) {
        if (!neighbours_.reached(rank)) continue;
        for (const uint64_t old : retired_) neighbours_.give(rank, {.region = old}, -1);
        const Neighbours::Parcel parcel = {region, static_cast<uint64_t>(memory.bytes())};
        all = neighbours_.give(rank, parcel, memory.fd()) && all;
      }
      retired_.clear();
      if (!all) return {};
      own.shown = true;
    }
    return {.region = region, .offset = static_cast<uint64_t>(begin - memory.data())};
  }
  return {};
}

std::shared_ptr<Regions::Mapping> Regions::find(int rank, uint64_t region,
                                                const std::function<void()>& check) {
  for (;;) {
    const auto found = seen_.find({rank, region});
    if (found != seen_.end()) return found->second;
    auto taken = neighbours_.take(rank);
    if (!taken) {
      check();
      continue;
    }
    const auto& [parcel, fd] = *taken;
    if (parcel.bytes == 0) {
      seen_.erase({rank, parcel.region});
    } else {
      seen_[{rank, parcel.region}] =
          std::make_shared<Mapping>(std::move(taken->second), static_cast<int64_t>(parcel.bytes));
    }
  }
}

char* Regions::see(int rank, const Place& place, int64_t bytes,
                   const std::function<void()>& check) {
  {
    const MutexLock lock(mutex_);
    if (!neighbours_.reached(rank)) return own_.at(place.region).memory->data() + place.offset;
  }
  const Mapping& memory = *find(rank, place.region, check);
  require(static_cast<int64_t>(place.offset) + bytes <= memory.bytes(),
          "rank {} shows bytes {} to {} of {}", rank, place.offset,
          static_cast<int64_t>(place.offset) + bytes, memory.bytes());
  return memory.data() + place.offset;
}

std::shared_ptr<void> Regions::make_board(uint64_t number, int64_t bytes,
                                          const std::vector<int>& others) {
  const auto memory = std::make_shared<Mapping>(bytes);
  for (const int rank : others) {
    const Neighbours::Parcel parcel = {kBoards | number, static_cast<uint64_t>(bytes)};
    if (!neighbours_.give(rank, parcel, memory->fd())) {
      throw Error(ErrorKind::kUnavailable, fmt::format("rank {} of this host is gone", rank));
    }
  }
  return {memory, memory->data()};
}

std::shared_ptr<void> Regions::take_board(int from, uint64_t number, int64_t bytes,
                                          const std::function<void()>& check) {
  const auto memory = find(from, kBoards | number, check);
  require(memory->bytes() == bytes, "rank {} made a board of {} bytes, but {} are needed", from,
          memory->bytes(), bytes);
  seen_.erase({from, kBoards | number});
  return {memory, memory->data()};
}

}  // namespace flotilla::comm
