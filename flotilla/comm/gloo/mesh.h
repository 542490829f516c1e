// flotilla/comm/gloo/mesh.h
//
// The TCP connections of a rank to the ranks of other hosts, made and served by Gloo. All groups of
// a process share one mesh: each has a channel of its own, on which what one rank sends another
// receives in the same order.
//
// Every rank listens on the address that is given for its host and on no other. Before the first
// call a rank proves by a word from the job's store, which nobody reads without the job's token,
// that it is who it is. Gloo has no cipher: whoever can read or change what travels between the
// hosts can read and change gradients, as with every collective library.
//
// Thread safety: one thread, save for leave() and Transfer::interrupt().

#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "flotilla/rpc/store_client.h"

namespace flotilla::comm {

class Mesh {
 public:
  struct Options {
    std::string name = {};  // of the meeting; the same for all
    int rank = 0;
    std::vector<int> hosts = {};  // of every rank; those of the same number are not connected
    std::string address = {};     // under which this host is reached
    std::function<std::string(int rank)> why_gone = {};  // as in ProcessOptions
  };

  // Every rank makes one. Waits until the ranks of other hosts are connected; throws where the job
  // ends meanwhile, or where one does not come within a minute (or twice the limit of an outage,
  // rpc/outage.h) of its having said where it is.
  Mesh(rpc::StoreClient& store, const Options& options);
  ~Mesh();

  // Bytes on their way. Gone before it has arrived: the connection is of no use any more.
  class Transfer {
   public:
    virtual ~Transfer() = default;
    // False: it was interrupted. Throws std::exception where the connection is lost.
    virtual bool wait() = 0;
    // Ends the wait, now or later.
    virtual void interrupt() = 0;
  };
  // `data` stays as it is until the transfer is waited for. They throw as wait() does.
  std::unique_ptr<Transfer> send(int to, uint64_t channel, const void* data, int64_t bytes);
  std::unique_ptr<Transfer> recv(int from, uint64_t channel, void* data, int64_t bytes);

  bool connected(int rank) const;
  // The address of a rank's host.
  const std::string& address(int rank) const { return addresses_[static_cast<size_t>(rank)]; }

  // Closes all connections: for the others this rank is gone, and they can read why.
  void leave(const std::string& why);
  // What a rank to which the connection is lost has said; "": nothing.
  std::string why_left(int rank);
  // What others know of a rank that is gone; "": nothing.
  std::string why_gone(int rank) const { return why_gone_ ? why_gone_(rank) : ""; }

 private:
  class Pairs;
  const std::unique_ptr<Pairs> pairs_;
  std::vector<std::string> addresses_;  // by rank
  const std::function<std::string(int rank)> why_gone_;
};

}  // namespace flotilla::comm
