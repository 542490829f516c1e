// flotilla/ps/client.h
//
// The servers of a job, as one worker asks them: what is not a step of training, by name. Steps are
// prepared and sent as they are (server_calls.h).
//
// Thread safety: all calls, from any thread.

#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "flotilla/ps/server_calls.h"
#include "flotilla/ps/table.h"
#include "flotilla/ps/values.h"

namespace flotilla::ps {

class Client : public ServerCalls {
 public:
  explicit Client(Options options) : ServerCalls(std::move(options)) {}

  void create(const std::vector<TableSpec>& tables);
  std::vector<TableSpec> tables();
  // Of every server.
  std::vector<ServerValues> values();
  // All tables have their first values, or those of one checkpoint, under an id that is drawn. When
  // it returns no server forgets that.
  void set_values();
  void announce(Presence presence);
  // A checkpoint, written by the servers; it is there as a whole or not at all. Their file system
  // must be the same, or one host's.
  void save(const std::string& directory, const SaveOptions& what = {});
  // The same as a part of a larger save: write() lets the servers write into an empty directory,
  // and saved() says that it is where it belongs, so that deltas begin there.
  void write(const std::string& directory, const SaveOptions& what = {});
  void saved(const SaveOptions& what);
  void load(const std::string& directory, uint32_t only = kAllTables);
  void snapshot();
  int64_t shrink(uint32_t table, const Shrink& rule);
  // All rows of a sparse table, shard by shard.
  using SeeRows = std::function<void(std::span<const int64_t> keys, std::span<const float> values)>;
  void for_each_row(const TableSpec& table, const SeeRows& see);
  std::string metrics(int server);
};

}  // namespace flotilla::ps
