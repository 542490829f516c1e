#include "flotilla/device/cuda/blas.h"

#include <cublasLt.h>

#include "flotilla/base/error.h"
#include "flotilla/device/cuda/libraries.h"
#include "flotilla/device/cuda/shared_library.h"

namespace flotilla::cuda {
namespace {

constexpr int64_t kMostScratch = int64_t{32} << 20;  // what cuBLASLt recommends for Hopper
constexpr int64_t kScratchAlignment = 256;

// The functions of the library that are used here.
struct Lt {
  decltype(cublasLtGetVersion)* version;
  decltype(cublasLtGetStatusString)* status;
  decltype(cublasLtCreate)* create;
  decltype(cublasLtDestroy)* destroy;
  decltype(cublasLtMatmul)* matmul;
  decltype(cublasLtMatmulAlgoGetHeuristic)* heuristic;
  decltype(cublasLtMatmulDescCreate)* create_operation;
  decltype(cublasLtMatmulDescDestroy)* destroy_operation;
  decltype(cublasLtMatmulDescSetAttribute)* set_operation;
  decltype(cublasLtMatrixLayoutCreate)* create_layout;
  decltype(cublasLtMatrixLayoutDestroy)* destroy_layout;
  decltype(cublasLtMatrixLayoutSetAttribute)* set_layout;
  decltype(cublasLtMatmulPreferenceCreate)* create_preference;
  decltype(cublasLtMatmulPreferenceDestroy)* destroy_preference;
  decltype(cublasLtMatmulPreferenceSetAttribute)* set_preference;

  explicit Lt(const SharedLibrary& from) {
    from.load(version, "cublasLtGetVersion");
    const size_t found = version() / 10000;
    require(found == CUBLAS_VER_MAJOR,
            "this build of Flotilla needs cuBLASLt of version {}, but {} was loaded",
            CUBLAS_VER_MAJOR, version());
    from.load(status, "cublasLtGetStatusString");
    from.load(create, "cublasLtCreate");
    from.load(destroy, "cublasLtDestroy");
    from.load(matmul, "cublasLtMatmul");
    from.load(heuristic, "cublasLtMatmulAlgoGetHeuristic");
    from.load(create_operation, "cublasLtMatmulDescCreate");
    from.load(destroy_operation, "cublasLtMatmulDescDestroy");
    from.load(set_operation, "cublasLtMatmulDescSetAttribute");
    from.load(create_layout, "cublasLtMatrixLayoutCreate");
    from.load(destroy_layout, "cublasLtMatrixLayoutDestroy");
    from.load(set_layout, "cublasLtMatrixLayoutSetAttribute");
    from.load(create_preference, "cublasLtMatmulPreferenceCreate");
    from.load(destroy_preference, "cublasLtMatmulPreferenceDestroy");
    from.load(set_preference, "cublasLtMatmulPreferenceSetAttribute");
  }
};

const Lt& lt() {
  static const Lt loaded(
      SharedLibrary(fmt::format("libcublasLt.so.{}", CUBLAS_VER_MAJOR), "cublas"));
  return loaded;
}

template <typename... Args>
void check(cublasStatus_t status, Sentence<std::type_identity_t<Args>...> doing, Args&&... args) {
  if (status == CUBLAS_STATUS_SUCCESS) return;
  throw Error(
      ErrorKind::kInternal,
      fmt::format("cuBLASLt {} could not {}: {}", lt().version(),
                  fmt::format(doing.text, std::forward<Args>(args)...), lt().status(status)),
      doing.where);
}

cudaDataType_t type_of(DType dtype) {
  switch (dtype) {
    case DType::kF32:
      return CUDA_R_32F;
    case DType::kF64:
      return CUDA_R_64F;
    case DType::kF16:
      return CUDA_R_16F;
    case DType::kBF16:
      return CUDA_R_16BF;
    default:
      refuse("a matrix product on a GPU is of floats, but {} was asked for", dtype);
  }
}

cublasComputeType_t compute_of(DType dtype) {
  if (dtype == f64) return CUBLAS_COMPUTE_64F;
  return dtype == f32 && allows_tf32() ? CUBLAS_COMPUTE_32F_FAST_TF32 : CUBLAS_COMPUTE_32F;
}

// A matrix as it lies in memory, `rows` x `columns` row by row: to cuBLASLt, which counts column by
// column, its transpose.
class Matrix {
 public:
  Matrix(DType dtype, int64_t rows, int64_t columns, const MatmulProblem& p, int64_t stride) {
    check(lt().create_layout(&layout_, type_of(dtype), static_cast<uint64_t>(columns),
                             static_cast<uint64_t>(rows), columns),
          "describe a matrix of {} x {}", rows, columns);
    if (p.batch == 1) return;
    const auto batch = static_cast<int32_t>(p.batch);
    set(CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, batch);
    set(CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET, stride);
  }
  ~Matrix() { lt().destroy_layout(layout_); }
  Matrix(const Matrix&) = delete;
  Matrix& operator=(const Matrix&) = delete;

  cublasLtMatrixLayout_t get() const { return layout_; }

 private:
  template <typename V>
  void set(cublasLtMatrixLayoutAttribute_t attribute, V value) {
    check(lt().set_layout(layout_, attribute, &value, sizeof(value)), "describe a batch");
  }

  cublasLtMatrixLayout_t layout_ = nullptr;
};

class Operation {
 public:
  explicit Operation(const MatmulProblem& p) {
    check(lt().create_operation(&operation_, compute_of(p.dtype),
                                p.dtype == f64 ? CUDA_R_64F : CUDA_R_32F),
          "describe a product");
    // The transpose of C is that of B times that of A.
    set(CUBLASLT_MATMUL_DESC_TRANSA, p.transpose_b ? CUBLAS_OP_T : CUBLAS_OP_N);
    set(CUBLASLT_MATMUL_DESC_TRANSB, p.transpose_a ? CUBLAS_OP_T : CUBLAS_OP_N);
    if (!p.bias) return;
    set(CUBLASLT_MATMUL_DESC_EPILOGUE,
        p.relu ? CUBLASLT_EPILOGUE_RELU_BIAS : CUBLASLT_EPILOGUE_BIAS);
    set(CUBLASLT_MATMUL_DESC_BIAS_DATA_TYPE, type_of(p.dtype));
  }
  ~Operation() { lt().destroy_operation(operation_); }
  Operation(const Operation&) = delete;
  Operation& operator=(const Operation&) = delete;

  void set_bias(const void* bias) const { set(CUBLASLT_MATMUL_DESC_BIAS_POINTER, bias); }
  cublasLtMatmulDesc_t get() const { return operation_; }

 private:
  template <typename V>
  void set(cublasLtMatmulDescAttributes_t attribute, V value) const {
    check(lt().set_operation(operation_, attribute, &value, sizeof(value)), "describe a product");
  }

  cublasLtMatmulDesc_t operation_ = nullptr;
};

class Preference {
 public:
  explicit Preference(const MatmulProblem& p) {
    check(lt().create_preference(&preference_), "describe what is wished for");
    set(CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, static_cast<uint64_t>(kMostScratch));
    // Sums of parts that lie in scratch memory are added up in a fixed order.
    set(CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK,
        static_cast<uint32_t>(CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE));
    const auto alignment = static_cast<uint32_t>(p.alignment);
    for (const auto operand :
         {CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES,
          CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES}) {
      set(operand, alignment);
    }
  }
  ~Preference() { lt().destroy_preference(preference_); }
  Preference(const Preference&) = delete;
  Preference& operator=(const Preference&) = delete;

  cublasLtMatmulPreference_t get() const { return preference_; }

 private:
  template <typename V>
  void set(cublasLtMatmulPreferenceAttributes_t attribute, V value) {
    check(lt().set_preference(preference_, attribute, &value, sizeof(value)),
          "describe what is wished for");
  }

  cublasLtMatmulPreference_t preference_ = nullptr;
};

// A number in the type that the product is computed in.
union Scalar {
  float f32;
  double f64;

  Scalar(DType dtype, double value) {
    if (dtype == DType::kF64) {
      f64 = value;
    } else {
      f32 = static_cast<float>(value);
    }
  }
};

}  // namespace

struct MatmulPlan::State {
  cublasLtHandle_t handle;
  cudaStream_t stream;
  MatmulProblem p;
  Scalar alpha, beta;
  Operation operation;
  Matrix a, b, c;
  cublasLtMatmulAlgo_t algorithm = {};
  int64_t scratch = 0;

  State(void* library, Stream queue, const MatmulProblem& problem)
      : handle(static_cast<cublasLtHandle_t>(library)),
        stream(static_cast<cudaStream_t>(queue.handle)),
        p(problem),
        alpha(p.dtype, p.alpha),
        beta(p.dtype, p.accumulate ? 1 : 0),
        operation(p),
        a(p.dtype, p.transpose_a ? p.k : p.m, p.transpose_a ? p.m : p.k, p, p.stride_a),
        b(p.dtype, p.transpose_b ? p.n : p.k, p.transpose_b ? p.k : p.n, p, p.stride_b),
        c(p.dtype, p.m, p.n, p, p.stride_c) {
    cublasLtMatmulHeuristicResult_t found = {};
    int count = 0;
    check(lt().heuristic(handle, operation.get(), b.get(), a.get(), c.get(), c.get(),
                         Preference(p).get(), 1, &found, &count),
          "choose an algorithm for {} products of {} x {} and {} x {} in {}", p.batch, p.m, p.k,
          p.k, p.n, p.dtype);
    check(count == 0 ? CUBLAS_STATUS_NOT_SUPPORTED : found.state,
          "find an algorithm for {} products of {} x {} and {} x {} in {}", p.batch, p.m, p.k, p.k,
          p.n, p.dtype);
    algorithm = found.algo;
    scratch = static_cast<int64_t>(found.workspaceSize);
  }
};

MatmulPlan::MatmulPlan(void* handle, Stream stream, const MatmulProblem& problem)
    : state_(std::make_unique<State>(handle, stream, problem)) {}
MatmulPlan::~MatmulPlan() = default;

int64_t MatmulPlan::scratch_bytes() const {
  // Plans give memory with a smaller alignment than the library wants.
  return state_->scratch == 0 ? 0 : state_->scratch + kScratchAlignment;
}

void MatmulPlan::run(const void* a, const void* b, const void* bias, void* c, void* scratch) const {
  const State& s = *state_;
  if (s.p.bias) s.operation.set_bias(bias);
  const auto begin = (reinterpret_cast<uintptr_t>(scratch) + kScratchAlignment - 1) /
                     kScratchAlignment * kScratchAlignment;
  check(lt().matmul(s.handle, s.operation.get(), &s.alpha, b, s.b.get(), a, s.a.get(), &s.beta, c,
                    s.c.get(), c, s.c.get(), &s.algorithm, reinterpret_cast<void*>(begin),
                    static_cast<size_t>(s.scratch), s.stream),
        "multiply {} x {} and {} x {}", s.p.m, s.p.k, s.p.k, s.p.n);
}

Blas::Blas(Stream stream) : stream_(stream) {
  cublasLtHandle_t handle = nullptr;
  check(lt().create(&handle), "be set up");
  handle_ = handle;
}

Blas::~Blas() { lt().destroy(static_cast<cublasLtHandle_t>(handle_)); }

std::shared_ptr<const MatmulPlan> Blas::matmul(const MatmulProblem& problem) {
  return std::make_shared<const MatmulPlan>(handle_, stream_, problem);
}

}  // namespace flotilla::cuda
