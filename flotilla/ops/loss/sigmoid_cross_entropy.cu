// flotilla/ops/loss/sigmoid_cross_entropy.cu
//
// sigmoid_cross_entropy_with_logits on a GPU; sigmoid_cross_entropy.cc defines it. The elements
// that count are counted there, too.

#include "flotilla/device/cuda/map.cuh"
#include "flotilla/device/gpu.h"
#include "flotilla/ops/common/fold.cuh"
#include "flotilla/ops/common/fold_formulas.h"
#include "flotilla/ops/common/loss_formulas.h"
#include "flotilla/ops/common/optional_slots.h"

namespace flotilla::ops {
namespace {

template <typename T>
struct Counts {
  const T* labels;
  T ignored;
  __device__ double operator()(int64_t i, int64_t, int64_t) const {
    return labels[i] == ignored ? 0 : 1;
  }
};

// What the formulas share: which labels count, and what a loss is divided by.
template <typename T>
struct Frame {
  T ignored;
  const double* count;  // null: nothing is divided
  bool weighted;

  template <typename F>
  __device__ T of(T label, F value) const {
    if (label == ignored) return 0;
    if (count == nullptr) return value();
    return value() * (1 / static_cast<T>(*count > 1 ? *count : 1));
  }
};

// Where there is no weight, another tensor takes its place.
template <typename T>
struct Forward {
  Frame<T> frame;
  __device__ T operator()(T x, T label, T weight) const {
    return frame.of(label, [&] {
      return loss::SigmoidCrossEntropy::f(x, label, frame.weighted ? weight : T{1});
    });
  }
};

template <typename T>
struct Backward {
  Frame<T> frame;
  __device__ T operator()(T x, T label, T weight, T d) const {
    return frame.of(label, [&] {
      return loss::SigmoidCrossEntropy::slope(x, label, frame.weighted ? weight : T{1}) * d;
    });
  }
};

template <typename T>
class Loop {
 public:
  explicit Loop(PrepareContext& c)
      : stream_(c.around().stream),
        processors_(c.around().gpu->info().processors),
        n_(c.shape("X").numel()),
        ignored_(static_cast<T>(c.attr<int64_t>("ignore_index"))),
        x_(c.in<T>("X")),
        labels_(c.in<T>("Label")),
        weights_(given<T>(c, "pos_weight")),
        fold_({n_}, {1}) {
    if (!c.attr<bool>("normalize")) return;
    count_ = c.workspace<double>(1);
    work_ = c.workspace<double>(fold_.workspace());
  }

  // to[i] = Function(x, label, weight, more...), zero where the label is ignored.
  template <template <typename> typename Function, typename... More>
  void run(T* to, const More*... more) const {
    const T* labels = labels_.data();
    if (count_) {
      fold_.run<SumFold>(stream_, Counts<T>{labels, ignored_},
                         StoreFinished<double, AsItIs>{count_.data(), {}}, work_.data());
    }
    const Frame<T> frame = {ignored_, count_ ? count_.data() : nullptr,
                            static_cast<bool>(weights_)};
    cuda::map(stream_, processors_, n_, Function<T>{frame}, to, x_.data(), labels,
              weights_ ? weights_.data() : labels, more...);
  }

 private:
  Stream stream_;
  int processors_ = 1;
  int64_t n_ = 0;
  T ignored_ = 0;
  In<T> x_, labels_, weights_;
  GpuFold fold_;
  Out<double> count_, work_;
};

template <typename T>
Step forward(PrepareContext& c) {
  return [loop = Loop<T>(c), out = c.out<T>("Out")] { loop.template run<Forward>(out.data()); };
}

template <typename T>
Step backward(PrepareContext& c) {
  return [loop = Loop<T>(c), dout = c.in<T>("Out@GRAD"), dx = c.out<T>("X@GRAD")] {
    loop.template run<Backward>(dx.data(), dout.data());
  };
}

[[maybe_unused]] const bool kAdded =
    add_kernels("sigmoid_cross_entropy_with_logits",
                {{kCuda, f32, forward<float>}, {kCuda, f64, forward<double>}}) &&
    add_kernels("sigmoid_cross_entropy_with_logits_grad",
                {{kCuda, f32, backward<float>}, {kCuda, f64, backward<double>}});

}  // namespace
}  // namespace flotilla::ops
