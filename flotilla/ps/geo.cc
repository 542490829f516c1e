#include "flotilla/ps/geo.h"

#include <algorithm>
#include <utility>

#include "flotilla/base/error.h"

namespace flotilla::ps {
namespace {

std::span<const float> floats_in(const Bytes& answer, size_t count) {
  require(answer.data.size() >= count * sizeof(float),
          "a server answered with {} bytes instead of {}", answer.data.size(),
          count * sizeof(float));
  return {reinterpret_cast<const float*>(answer.data.data()), count};
}

// One element: what the others have done comes to what the worker has done itself.
void meet(float& mine, float& last, float theirs) {
  mine += theirs - last;
  last = theirs;
}

}  // namespace

GeoDense::GeoDense(TableSpec table, int servers, std::span<const std::span<const float>> parts)
    : table_(std::move(table)), layout_({table_}, servers) {
  for (const std::span<const float> part : parts) {
    last_.insert(last_.end(), part.begin(), part.end());
  }
  layout_.check(table_.id, static_cast<int64_t>(last_.size()));
}

void GeoDense::step(Client& client, std::span<const std::span<float>> parts, int64_t k) {
  if (++steps_ % k == 0) exchange(client, parts);
}

void GeoDense::exchange(Client& client, std::span<const std::span<float>> parts) {
  const float share = 1 / static_cast<float>(client.self().workers);
  std::vector<float> delta;
  delta.reserve(last_.size());
  for (const std::span<float> part : parts) {
    for (const float value : part) {
      float& last = last_[delta.size()];
      delta.push_back((value - last) * share);
      last += delta.back();
    }
  }
  const std::span<const float> whole[] = {delta};
  std::vector<Outgoing> requests;
  for (int server = 0; server < client.servers(); ++server) {
    ScatteredStep step = {.pulls = layout_.pulls()};
    step.changes.push_back({{.table = table_.id, .action = Action::kDelta},
                            pieces_of(std::span<const std::span<const float>>(whole),
                                      layout_.slice(table_.id, server))});
    requests.push_back(client.prepare(server, step, layout_.room(server)));
  }
  const std::vector<Bytes> answers = client.send(requests);
  const std::span<float> theirs[] = {delta};
  layout_.read(table_.id, answers, theirs);
  size_t i = 0;
  for (const std::span<float> part : parts) {
    for (float& value : part) {
      meet(value, last_[i], delta[i]);
      ++i;
    }
  }
}

GeoRows::GeoRows(TableSpec table, std::span<const float> rows)
    : table_(std::move(table)),
      last_(rows.begin(), rows.end()),
      used_(rows.size() / static_cast<size_t>(table_.width)) {}

void GeoRows::step(Client& client, std::span<const std::span<const int64_t>> ids,
                   std::span<float> rows, int64_t k) {
  for (const std::span<const int64_t> slot : ids) {
    for (const int64_t id : slot) {
      const auto row = static_cast<size_t>(id);
      if (row >= used_.size() || used_[row]) continue;  // the padding may lie outside
      used_[row] = true;
      touched_.push_back(id);
    }
  }
  if (++steps_ % k == 0) exchange(client, rows);
}

void GeoRows::exchange(Client& client, std::span<float> rows) {
  const auto width = static_cast<size_t>(table_.width);
  const float share = 1 / static_cast<float>(client.self().workers);
  const std::span<const int64_t> all[] = {touched_};
  plan_.make(all, client.servers(), false, 0);
  const std::span<const int64_t> keys = plan_.keys();
  std::vector<float> delta(keys.size() * width);
  for (size_t i = 0; i < keys.size(); ++i) {
    const size_t from = static_cast<size_t>(keys[i]) * width;
    for (size_t j = 0; j < width; ++j) {
      float& last = last_[from + j];
      delta[i * width + j] = (rows[from + j] - last) * share;
      last += delta[i * width + j];
    }
  }
  std::vector<Outgoing> requests;
  for (int server = 0; server < client.servers(); ++server) {
    const std::span<const int64_t> mine = plan_.keys_of(server);
    if (mine.empty()) continue;
    ScatteredStep step = {.pulls = {{.table = table_.id, .keys = mine}}};
    step.changes.push_back({{.table = table_.id, .action = Action::kDelta, .keys = mine},
                            {std::span<const float>(delta).subspan(plan_.begin_of(server) * width,
                                                                   mine.size() * width)}});
    requests.push_back(client.prepare(server, step, mine.size() * width * sizeof(float)));
  }
  const std::vector<Bytes> answers = client.send(requests);
  for (size_t r = 0; r < requests.size(); ++r) {
    const std::span<const int64_t> mine = plan_.keys_of(requests[r].server);
    const std::span<const float> theirs = floats_in(answers[r], mine.size() * width);
    for (size_t i = 0; i < mine.size(); ++i) {
      const size_t to = static_cast<size_t>(mine[i]) * width;
      for (size_t j = 0; j < width; ++j) meet(rows[to + j], last_[to + j], theirs[i * width + j]);
    }
  }
  for (const int64_t id : touched_) used_[static_cast<size_t>(id)] = false;
  touched_.clear();
}

}  // namespace flotilla::ps
