// flotilla/ps/geo.h
//
// Geo training of one table: the worker changes its own copy; every k steps what has changed since
// the last time goes to the servers, divided by the number of workers, and what the others have
// sent comes back.
//
//   delta = (mine - last) / workers,  last += delta     the servers add it up
//   mine += theirs - last,            last = theirs     so mine gets what the others have added
//
// Rows of a sparse table are exchanged where the worker has used them since the last time.

#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "flotilla/ps/client.h"
#include "flotilla/ps/dense_values.h"
#include "flotilla/ps/key_plan.h"

namespace flotilla::ps {

class GeoDense {
 public:
  // `parts`: what the servers have.
  GeoDense(TableSpec table, int servers, std::span<const std::span<const float>> parts);

  void step(Client& client, std::span<const std::span<float>> parts, int64_t k);

 private:
  void exchange(Client& client, std::span<const std::span<float>> parts);

  const TableSpec table_;
  const DenseTables layout_;
  int64_t steps_ = 0;
  std::vector<float> last_;
};

class GeoRows {
 public:
  // `rows`: what the servers have, from row 0 on.
  GeoRows(TableSpec table, std::span<const float> rows);

  void step(Client& client, std::span<const std::span<const int64_t>> ids, std::span<float> rows,
            int64_t k);

 private:
  void exchange(Client& client, std::span<float> rows);

  const TableSpec table_;
  int64_t steps_ = 0;
  std::vector<float> last_;
  std::vector<bool> used_;
  std::vector<int64_t> touched_;  // in the order of their first use
  KeyPlan plan_;
};

}  // namespace flotilla::ps
