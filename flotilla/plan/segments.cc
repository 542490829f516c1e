#include "flotilla/plan/segments.h"

#include <functional>

namespace flotilla::plan {
namespace {

// A launch less is not worth a recording.
constexpr int64_t kFewest = 2;

bool can_be_recorded(const Node& node) {
  return node.device == kDevice && !node.crosses && !node.before && !node.wait &&
         node.body_end == 0;
}

}  // namespace

Segments::Segments(Draft& draft) : draft_(draft), beginning_(draft.nodes.size(), -1) {
  if (draft.device == nullptr || draft.device->make_recording() == nullptr) return;
  const auto count = static_cast<int32_t>(draft.nodes.size());
  Segment open;
  const auto close = [&] {
    if (open.steps >= kFewest) {
      beginning_[static_cast<size_t>(open.begin)] = static_cast<int32_t>(segments_.size());
      open.recording = draft_.device->make_recording();
      segments_.push_back(std::move(open));
    }
    open = {};
  };
  for (int32_t n = 0; n < count; ++n) {
    const Node& node = draft.nodes[static_cast<size_t>(n)];
    if (node.kept && !can_be_recorded(node)) {
      close();
      if (node.body_end > n) n = node.body_end - 1;  // bodies run step by step
      continue;
    }
    if (!node.kept) continue;
    if (open.steps == 0) open.begin = n;
    ++open.steps;
    open.end = n + 1;
  }
  close();
}

int32_t Segments::run(int32_t node) {
  const int32_t found = beginning_[static_cast<size_t>(node)];
  if (found < 0 || !warm_) return 0;
  Segment& segment = segments_[static_cast<size_t>(found)];
  if (!segment.recorded) record(segment);
  segment.recording->replay();
  return segment.end;
}

void Segments::record(Segment& segment) {
  std::vector<std::function<void()>> steps;
  for (int32_t n = segment.begin; n < segment.end; ++n) {
    const Node& node = draft_.nodes[static_cast<size_t>(n)];
    if (node.kept) steps.push_back(node.step);
  }
  segment.recording->record(steps);
  segment.recorded = true;
}

void Segments::forget() {
  for (Segment& segment : segments_) segment.recorded = false;
}

}  // namespace flotilla::plan
