// flotilla/testing/cuda/gpu_host.h
//
// As much of a planner as one kernel needs to run on a GPU: values with fixed cells in memory of
// their own. Values lie in order; where a kernel wants another layout, its Step reorders them
// before and after. Sparse rows are two values: their elements, and their numbers.
//
//   GpuHost host(gpu, GpuHost::kInPlace);
//   const int32_t x = host.add(x_meta), out = host.add(out_meta);
//   const Step step = host.prepare(op, {{"X", {x}}}, {{"Out", {out}}});
//   host.upload(x, tensor);
//   step();
//   host.download(out);

#pragma once

#include <deque>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "flotilla/device/gpu.h"
#include "flotilla/kernel/prepare.h"

namespace flotilla {

class GpuHost final : public PrepareHost {
 public:
  // Whether a kernel that allows it is made to write over its input.
  enum Sharing { kApart, kInPlace };
  using Values = std::map<std::string, std::vector<int32_t>, std::less<>>;  // by slot

  explicit GpuHost(Gpu& gpu, Sharing sharing = kApart)
      : gpu_(gpu), stream_(gpu.stream()), sharing_(sharing) {}

  // `shift`: how many elements behind an aligned address it begins.
  int32_t add(const VarMeta& meta, int64_t shift = 0);
  // The value that holds the numbers of sparse rows, i64.
  int32_t rows_of(int32_t value) const { return at(value).rows; }
  // The op's CUDA kernel, prepared. Refuses where there is none.
  Step prepare(const Op& op, const Values& inputs, const Values& outputs);
  // Gives all values other memory, as a plan does whose arena grew. Their contents are lost.
  void move();

  // Both wait until it is done. Of sparse rows, the elements. REQUIRES: dtype and shape are as in
  // add().
  void upload(int32_t value, const Tensor& tensor);
  Tensor download(int32_t value) const;
  // Overwrites a value with bytes 255: floats become NaN.
  void spoil(int32_t value);

  // PrepareHost
  const Layout& layout_of(int32_t value) const override;
  const Cell* read(int32_t value, const Layout& layout) override;
  const Cell* read_rows(int32_t value) override;
  const Cell* write(int32_t value, const Layout& layout) override;
  const Cell* write_rows(int32_t value) override;
  const Cell* lod_of(int32_t value) override;
  void share(int32_t from, int32_t to, bool view) override;
  void keep_together(const std::vector<int32_t>&) override {}
  const Cell* workspace(int64_t bytes) override;
  RandomSource random(int64_t op_seed) override;
  // Drawn once, as for the first run of a program: each run of the Step finds the same one.
  const Cell* random_stream(int64_t op_seed) override;
  void* resize(int32_t value, const Shape& shape) override;
  Surroundings around() const override { return {.stream = stream_, .gpu = &gpu_}; }

 private:
  struct Value {
    VarMeta meta = {};
    int64_t shift = 0;  // bytes
    int32_t lies_at = -1;
    int32_t rows = -1;  // the value with their numbers
    std::shared_ptr<Buffer> memory = {};
    Cell cell = {};

    // Of what lies in memory.
    Shape shape() const {
      Shape found = meta.shape;
      if (meta.kind == VarKind::kSelectedRows) found[0] = meta.rows;
      return found;
    }
    int64_t bytes() const { return shape().numel() * size_of(meta.dtype); }
  };

  // A value in the layout that a kernel asked for.
  struct Reordered {
    Layout layout = {};
    const Cell* cell = nullptr;  // of the value
    int32_t copy = -1;           // a value that holds it in that layout
    int32_t scratch = -1;
    Reorder reorder = {};
  };

  Value& at(int32_t value) { return values_.at(static_cast<size_t>(value)); }
  const Value& at(int32_t value) const { return values_.at(static_cast<size_t>(value)); }
  // The cell of the value in `layout`, which `known` lists where that is not its own.
  const Cell* laid_out(int32_t value, const Layout& layout, bool to_read,
                       std::vector<Reordered>& known);
  Step with_reorders(Step step);
  void place(Value& value);
  void wait() const;
  void write_streams();

  Gpu& gpu_;
  const Stream stream_;
  const Sharing sharing_;
  std::deque<Value> values_;  // addresses of cells stay
  // Of the kernel that is being prepared.
  std::vector<Reordered> before_, after_;
  Generator generator_{7};
  std::map<int32_t, RandomStream> streams_;  // by the value that holds one
};

}  // namespace flotilla
