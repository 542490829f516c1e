#include "flotilla/device/cuda/dnn.h"

// The frontend finds the functions of cuDNN in `cudnn_dlhandle`.
#define NV_CUDNN_FRONTEND_USE_DYNAMIC_LOADING
#define NV_CUDNN_FRONTEND_DISABLE_LOGGING
#define CUDNN_FRONTEND_SKIP_JSON_LIB
#include <cudnn_frontend.h>

#include <unordered_map>
#include <vector>

#include "flotilla/base/error.h"
#include "flotilla/device/cuda/libraries.h"
#include "flotilla/device/cuda/shared_library.h"

namespace cudnn_frontend {
void* cudnn_dlhandle = nullptr;
}

namespace flotilla::cuda {
namespace {

namespace fe = cudnn_frontend;
using fe::graph::Graph;
using fe::graph::Tensor_attributes;
using TensorPtr = std::shared_ptr<Tensor_attributes>;

constexpr int64_t kMostScratch = int64_t{512} << 20;  // Paddle's
constexpr int64_t kScratchAlignment = 256;

void load_once() {
  static const bool loaded = [] {
    const SharedLibrary library(fmt::format("libcudnn.so.{}", CUDNN_MAJOR), "cudnn");
    fe::cudnn_dlhandle = library.handle();
    const size_t version = fe::detail::get_backend_version();
    require(version / 10000 == CUDNN_MAJOR,
            "this build of Flotilla needs cuDNN of version {}, but {} was loaded", CUDNN_MAJOR,
            version);
    return true;
  }();
  static_cast<void>(loaded);
}

void check(cudnnStatus_t status, Sentence<> doing) {
  if (status == CUDNN_STATUS_SUCCESS) return;
  throw Error(ErrorKind::kInternal,
              fmt::format("cuDNN {} could not {}: {}", fe::detail::get_backend_version(),
                          fmt::format(doing.text), fe::detail::get_error_string(status)),
              doing.where);
}

// Numbers of the operands, by which a run names their addresses.
enum Operand : int64_t { kSource = 1, kFilter, kDestination };

fe::DataType_t type_of(DType dtype) {
  if (dtype == f16) return fe::DataType_t::HALF;
  if (dtype == bf16) return fe::DataType_t::BFLOAT16;
  require(dtype == f32, "cuDNN convolves f32, f16 and bf16, but {} was asked for", dtype);
  return fe::DataType_t::FLOAT;
}

void describe(Tensor_attributes& tensor, Operand operand, const Shape& shape, DType dtype) {
  const int64_t axes = shape.rank();
  std::vector<int64_t> strides(static_cast<size_t>(axes));
  strides[1] = 1;
  int64_t stride = shape[1];
  for (int64_t a = axes - 1; a >= 2; stride *= shape[a--]) strides[static_cast<size_t>(a)] = stride;
  strides[0] = stride;
  tensor.set_uid(operand)
      .set_dim({shape.begin(), shape.end()})
      .set_stride(strides)
      .set_data_type(type_of(dtype));
}

TensorPtr input(Graph& graph, Operand operand, const Shape& shape, DType dtype) {
  Tensor_attributes tensor;
  describe(tensor, operand, shape, dtype);
  return graph.tensor(tensor);
}

template <typename Attributes>
Attributes attributes(const onednn::ConvProblem& p) {
  Attributes a;
  a.set_pre_padding(p.pads_begin)
      .set_post_padding(p.pads_end)
      .set_stride(p.strides)
      .set_dilation(p.dilations);
  return a;
}

void add_convolution(Graph& graph, const Convolution& c) {
  const onednn::ConvProblem& p = c.problem;
  const auto tensor = [&](Operand operand, const Shape& shape) {
    return input(graph, operand, shape, c.dtype);
  };
  const auto result = [&](const TensorPtr& made, Operand operand, const Shape& shape) {
    made->set_output(true);
    describe(*made, operand, shape, c.dtype);
  };
  switch (c.direction) {
    case Convolution::kForward:
      return result(graph.conv_fprop(tensor(kSource, p.src), tensor(kFilter, p.weights),
                                     attributes<fe::graph::Conv_fprop_attributes>(p)),
                    kDestination, p.dst);
    case Convolution::kSourceGradient:
      return result(graph.conv_dgrad(tensor(kDestination, p.dst), tensor(kFilter, p.weights),
                                     attributes<fe::graph::Conv_dgrad_attributes>(p)),
                    kSource, p.src);
    case Convolution::kFilterGradient:
      return result(graph.conv_wgrad(tensor(kDestination, p.dst), tensor(kSource, p.src),
                                     attributes<fe::graph::Conv_wgrad_attributes>(p)),
                    kFilter, p.weights);
  }
}

// What rules an algorithm out.
std::vector<fe::NumericalNote_t> unwanted(DType dtype, bool tf32) {
  using Note = fe::NumericalNote_t;
  std::vector<Note> notes = {Note::NONDETERMINISTIC, Note::REDUCED_PRECISION_REDUCTION, Note::FFT,
                             Note::WINOGRAD_TILE_6x6, Note::WINOGRAD_TILE_13x13};
  if (dtype == f32) notes.push_back(Note::DOWN_CONVERT_INPUTS);
  if (dtype == f32 && !tf32) notes.push_back(Note::TENSOR_CORE);
  return notes;
}

// The first algorithm of those that cuDNN expects to be fast; measured to be as fast as the best.
bool choose(Graph& graph, cudnnHandle_t handle, DType dtype, bool tf32) {
  if (graph.validate().is_bad() || graph.build_operation_graph(handle).is_bad() ||
      graph.create_execution_plans({fe::HeurMode_t::A, fe::HeurMode_t::FALLBACK}).is_bad()) {
    return false;
  }
  graph.deselect_numeric_notes(unwanted(dtype, tf32));
  graph.deselect_workspace_greater_than(kMostScratch);
  return graph.check_support().is_good() && graph.build_plans().is_good();
}

// One line for a question, the same for the same one.
std::string key_of(const Convolution& c, bool tf32) {
  const onednn::ConvProblem& p = c.problem;
  return fmt::format("{} {} {} {} {} {} {} {} {} {} {}", static_cast<int>(c.direction), c.dtype,
                     tf32, p.src, p.weights, p.dst, fmt::join(p.strides, ","),
                     fmt::join(p.pads_begin, ","), fmt::join(p.pads_end, ","),
                     fmt::join(p.dilations, ","), p.groups);
}

}  // namespace

struct ConvolutionPlan::State {
  cudnnHandle_t handle = nullptr;
  Convolution what = {};
  Graph graph = {};
  int64_t scratch = 0;
};

ConvolutionPlan::ConvolutionPlan(std::unique_ptr<State> state) : state_(std::move(state)) {}
ConvolutionPlan::~ConvolutionPlan() = default;

int64_t ConvolutionPlan::scratch_bytes() const {
  // Plans give memory with a smaller alignment than the library may want.
  return state_->scratch == 0 ? 0 : state_->scratch + kScratchAlignment;
}

void ConvolutionPlan::run(const void* first, const void* second, void* result,
                          void* scratch) const {
  const Convolution::Direction direction = state_->what.direction;
  const bool forward = direction == Convolution::kForward;
  const bool to_source = direction == Convolution::kSourceGradient;
  std::unordered_map<int64_t, void*> addresses = {
      {to_source ? kDestination : kSource, const_cast<void*>(first)},
      {forward || to_source ? kFilter : kDestination, const_cast<void*>(second)},
      {forward ? kDestination : (to_source ? kSource : kFilter), result}};
  const auto begin = (reinterpret_cast<uintptr_t>(scratch) + kScratchAlignment - 1) /
                     kScratchAlignment * kScratchAlignment;
  fe::error_t error =
      state_->graph.execute(state_->handle, addresses, reinterpret_cast<void*>(begin));
  if (error.is_good()) return;
  throw Error(
      ErrorKind::kInternal,
      fmt::format("cuDNN {} could not convolve {} with {}: {}", fe::detail::get_backend_version(),
                  state_->what.problem.src, state_->what.problem.weights, error.get_message()));
}

Dnn::Dnn(Stream stream) {
  load_once();
  cudnnHandle_t handle = nullptr;
  check(fe::detail::create_handle(&handle), "be set up");
  handle_ = handle;
  check(fe::detail::set_stream(handle, static_cast<cudaStream_t>(stream.handle)), "use a stream");
}

Dnn::~Dnn() {
  known_.clear();
  fe::detail::destroy_handle(static_cast<cudnnHandle_t>(handle_));
}

std::shared_ptr<const ConvolutionPlan> Dnn::convolution(const Convolution& wanted) {
  const bool tf32 = allows_tf32();
  const auto [place, is_new] = known_.try_emplace(key_of(wanted, tf32));
  if (!is_new) return place->second;
  auto state = std::make_unique<ConvolutionPlan::State>();
  state->handle = static_cast<cudnnHandle_t>(handle_);
  state->what = wanted;
  const fe::DataType_t type = type_of(wanted.dtype);
  state->graph.set_io_data_type(type)
      .set_intermediate_data_type(fe::DataType_t::FLOAT)
      .set_compute_data_type(fe::DataType_t::FLOAT);
  add_convolution(state->graph, wanted);
  if (choose(state->graph, state->handle, wanted.dtype, tf32)) {
    state->scratch = state->graph.get_workspace_size();
    place->second = std::make_shared<const ConvolutionPlan>(std::move(state));
  }
  return place->second;
}

}  // namespace flotilla::cuda
