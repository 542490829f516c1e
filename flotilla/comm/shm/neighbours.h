// flotilla/comm/shm/neighbours.h
//
// Which ranks share this host, and the sockets between them over which descriptors of memory are
// handed. That two ranks share a host is proved by a descriptor that arrived, never by a name: a
// rank listens on a Unix socket, which nobody outside of the host can reach.
//
// Everybody inside of it can: a connection counts once the kernel says that its other end is a
// process of the same user, on both sides, and once it has said the word that the listening rank
// left in the job's store. All others are closed, and nobody waits for them.
//
// Thread safety: one thread, save for leave().

#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "flotilla/base/fd.h"
#include "flotilla/rpc/store_client.h"

namespace flotilla::comm {

class Neighbours {
 public:
  // Every rank of the job makes one, with the same `name`. Waits until all have; throws where the
  // job ends meanwhile. Ranks that give different numbers `apart` act as if on different hosts.
  Neighbours(rpc::StoreClient& store, const std::string& name, int rank, int size, int apart);

  // The ranks of every host, by their lowest; each in order.
  const std::vector<std::vector<int>>& hosts() const { return hosts_; }
  const std::vector<int>& here() const { return hosts_[host_]; }
  // Of this host, and another than this one.
  bool reached(int rank) const { return sockets_.contains(rank); }
  bool near(int rank) const { return rank == rank_ || reached(rank); }

  // What a descriptor is. Without bytes: the region is no more, and there is no descriptor.
  struct Parcel {
    uint64_t region = 0;
    uint64_t bytes = 0;
  };
  // False: the rank of this host has not taken what it was given before, or is gone.
  bool give(int rank, const Parcel& parcel, int fd);
  // The next thing that the rank gave; waits for a moment only.
  std::optional<std::pair<Parcel, Fd>> take(int rank);
  // The rank's process has closed its end.
  bool gone(int rank) const;
  // Closes all connections: for the neighbours this rank is gone. From any thread.
  void leave() const;

 private:
  static constexpr int kLookMilliseconds = 50;

  // Where a rank of this job that shares the host may be reached, and what to say there.
  struct Door {
    std::string address = {};  // empty: it is not tried
    std::string word = {};
  };
  class Reception;

  // The ranks that could be reached at their doors, which are those of the lower ranks. Calls
  // `check` now and then, which throws where the job ends.
  std::vector<int> connect(const std::vector<Door>& lower, const std::function<void()>& check);

  const int rank_;
  const int size_;
  std::map<int, Fd> sockets_;  // by rank
  std::vector<std::vector<int>> hosts_;
  size_t host_ = 0;  // mine
};

}  // namespace flotilla::comm
