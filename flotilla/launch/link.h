// flotilla/launch/link.h
//
// The launchers of one job on several hosts. They meet in the store that the first host serves,
// agree that they mean the same job, hear of each other's failures, and leave together.
//
// All waiting is done in the launcher's own loop: fd() becomes readable when there is news, and
// what is said to the others is on its way, also where they cannot be reached just now.
//
// Thread safety: none, but for what the store's threads do inside.

#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "flotilla/launch/report.h"
#include "flotilla/rpc/store_client.h"

namespace flotilla::launch {

class Link {
 public:
  struct Options {
    std::vector<std::string> hosts = {};
    int64_t self = 0;
    std::string store = {};  // its address
    std::string token = {};
    std::string plan = {};  // what must be the same on all hosts, for people to read
    int64_t attempt = 0;    // of the job: hosts that start it again meet again
    // Asked while the store or another host is waited for: true ends that.
    std::function<bool()> stop = {};
  };

  explicit Link(Options options);
  ~Link();

  // Whether the store answered. To be called again until it did, at most every kRetry.
  static constexpr std::chrono::milliseconds kRetry{250};
  bool connect();

  int fd() const;
  void clear_fd();

  // All hosts are there. Throws where one means another job.
  bool all_joined();
  // Those that are not there yet.
  std::vector<std::string> missing() const;
  // Why they may be missing although they run: a host that took itself for the first because its
  // list is in another order. "" where nothing of the kind is found. Takes up to `patience` each.
  std::string look_for_others(std::chrono::milliseconds patience) const;

  // The first failure counts, and is returned: it may be that of another host.
  Outcome report_failure(const Outcome& outcome);
  // The first failure on any host, once it is known.
  std::optional<Outcome> failure() const;

  // Something does not move: on all hosts the sentence of whoever saw it first, by its number.
  void report_stall(int64_t number, const std::string& sentence);
  std::optional<std::string> stall(int64_t number) const;

  // At a moment of which all hosts know, each says where the processes stand, as far as it knows.
  // False: nobody hears it.
  bool say_standing(const std::string& moment, const std::vector<Standing>& rows);
  // What was said so far, host by host, and whether all that are there have.
  std::vector<std::vector<Standing>> standings(const std::string& moment) const;
  bool all_said_standing(const std::string& moment) const;

  // This host's workers, and then all of its processes, have ended.
  void say_workers_done();
  void say_done();
  bool all_workers_done() const;
  bool all_done() const;

  // Why the job cannot go on, or "": the store is gone, or another host.
  std::string lost() const;
  // To be called from any thread, also when the link is no more: another host is gone.
  std::function<void(const std::string& reason)> on_lost() const;

 private:
  struct Inbox;

  void announce();
  [[noreturn]] void refuse_for_all(const std::string& why);
  bool all_have(const char* name) const;
  std::optional<std::string> seen(const std::string& key) const;

  const Options options_;
  const std::string keys_;  // where those of this attempt are
  std::shared_ptr<Inbox> inbox_;
  std::unique_ptr<rpc::StoreClient> client_;
};

}  // namespace flotilla::launch
