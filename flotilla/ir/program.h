// flotilla/ir/program.h
//
// A program is blocks of operators over named variables: what a user builds, what autodiff and the
// passes rewrite, what is saved, and what the planner reads. Variables may be written more than
// once; execution follows the order of operators.
//
// Thread safety: none; a program is built by one thread.

#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "flotilla/base/dtype.h"
#include "flotilla/base/shape.h"
#include "flotilla/ir/op.h"
#include "flotilla/ir/unique_name.h"

namespace flotilla {

class Program;

// What a variable holds; the numbers are those of Paddle's VarType.Type.
enum class VarKind : int32_t {
  kTensor = 7,
  kSelectedRows = 8,
  kFeed = 9,
  kFetch = 10,
  kStepScopes = 11,
  kRankTable = 12,
  kTensorArray = 13,
  kPlaceList = 14,
  kReader = 15,
  kRaw = 17,
  kString = 25,
  kStrings = 26,
  kVocab = 27,
  kFeedList = 28,
  kSparseCoo = 30,
  kSparseCsr = 31,
};

struct VarKindName {
  VarKind kind = VarKind::kTensor;
  std::string_view name = {};
};

// Every kind, as the text form and error messages name it.
inline constexpr VarKindName kVarKinds[] = {
    {VarKind::kTensor, "tensor"},
    {VarKind::kSelectedRows, "selected_rows"},
    {VarKind::kFeed, "feed"},
    {VarKind::kFetch, "fetch"},
    {VarKind::kStepScopes, "step_scopes"},
    {VarKind::kRankTable, "rank_table"},
    {VarKind::kTensorArray, "tensor_array"},
    {VarKind::kPlaceList, "place_list"},
    {VarKind::kReader, "reader"},
    {VarKind::kRaw, "raw"},
    {VarKind::kString, "string"},
    {VarKind::kStrings, "strings"},
    {VarKind::kVocab, "vocab"},
    {VarKind::kFeedList, "feed_list"},
    {VarKind::kSparseCoo, "sparse_coo"},
    {VarKind::kSparseCsr, "sparse_csr"},
};
std::string_view name_of(VarKind kind);

struct Regularizer {
  enum Kind { kNone, kL1, kL2 };
  Kind kind = kNone;
  float coeff = 0;
  bool operator==(const Regularizer&) const = default;
};

// What makes a variable a parameter: how optimizers treat it. Not part of the wire format, but of
// the text form.
struct ParameterInfo {
  bool trainable = true;
  float learning_rate = 1;                      // multiplies the optimizer's
  std::optional<Regularizer> regularizer = {};  // stands before the optimizer's own
  bool need_clip = true;
  bool do_model_average = true;
  bool operator==(const ParameterInfo&) const = default;
};

// What one slot of a reader's batch holds.
struct ReaderSlot {
  DType dtype = f32;
  Shape shape = {};
  int32_t lod_level = 0;
  bool operator==(const ReaderSlot&) const = default;
};

struct Var {
  std::string name = {};
  VarKind kind = VarKind::kTensor;
  DType dtype = f32;
  Shape shape = {};  // -1: known when the program runs
  int32_t lod_level = 0;
  bool persistable = false;    // lives in the scope, from run to run
  bool stop_gradient = false;  // no gradient flows through it
  bool is_data = false;        // declared by data(); fed
  bool need_check_feed = false;
  std::optional<ParameterInfo> parameter = {};
  std::vector<ReaderSlot> reader = {};  // of a variable of kind kReader
  Block* block = nullptr;

  bool is_parameter() const { return parameter.has_value(); }
  // Bytes of its elements. REQUIRES: the shape is known.
  int64_t bytes() const { return shape.numel() * size_of(dtype); }
};

class Block {
 public:
  Block(Program& program, int32_t index, int32_t parent);
  Block(const Block&) = delete;
  Block& operator=(const Block&) = delete;

  Program& program() const { return program_; }
  int32_t index() const { return index_; }
  int32_t parent() const { return parent_; }  // -1 for the global block
  // For a block of gradients: the block it differentiates, whose variables it may name. Otherwise
  // -1.
  int32_t forward_block() const { return forward_block_; }
  void set_forward_block(int32_t index) { forward_block_ = index; }

  // Variables, in the order in which they were made.
  const std::vector<std::unique_ptr<Var>>& vars() const { return vars_; }
  // Adds a variable. One that exists keeps its place (and its address) and takes the new
  // description: a second create_var of a name gives a second handle to the same variable.
  Var& add_var(Var var);
  // The variable of this block, or null.
  Var* find_var(std::string_view name) const;
  // The variable of this block, of its forward block, or of the nearest block around it; or null.
  Var* find_var_recursive(std::string_view name) const;
  // The same, but refuses an unknown name and suggests the nearest one.
  Var& var(std::string_view name) const;
  void remove_var(std::string_view name);
  // Renames a variable of this block, here and in the blocks inside.
  void rename_var(std::string_view from, std::string_view to);
  // A fresh temporary named <prefix>_<n>.
  Var& add_temporary(std::string_view prefix, DType dtype, Shape shape);
  // Trainable and not trainable.
  std::vector<Var*> parameters() const;

  size_t size() const { return ops_.size(); }
  Op& op(size_t position) const { return *ops_[position]; }
  const std::vector<std::unique_ptr<Op>>& ops() const { return ops_; }
  // Appends without a check or inference; op/build.h is what layers call.
  Op& push_back(Op op);
  Op& insert(size_t position, Op op);
  void insert_before(size_t position, std::vector<Op> ops);
  void erase(size_t position) { erase(std::vector<size_t>{position}); }
  // REQUIRES: positions ascend.
  void erase(const std::vector<size_t>& positions);
  int64_t count(std::string_view op_type) const;
  // Position of the first op that writes one of `vars`; size() where there is none.
  size_t first_writer_of(std::span<const std::string> vars) const;

 private:
  Program& program_;
  const int32_t index_;
  const int32_t parent_;
  int32_t forward_block_ = -1;
  std::vector<std::unique_ptr<Var>> vars_;
  std::unordered_map<std::string, Var*> by_name_;
  std::vector<std::unique_ptr<Op>> ops_;
  // What was taken out. Handles to it (Python's, a pass') stay valid as long as the program.
  std::vector<std::unique_ptr<Var>> removed_vars_;
  std::vector<std::unique_ptr<Op>> removed_ops_;
};

// What every op appended now is marked with. op/build.h reads it.
struct BuildState {
  int32_t op_role = kForwardRole;
  std::vector<std::string> op_role_var = {};
  std::string name_scope = "/";
  std::string device = {};
  std::vector<std::string> callstack = {};  // the user's file and line, innermost last
};

// What the wire format says beside the blocks: which release of Paddle wrote the program (2006002
// is 2.6.2), and the versions of the operators it knew. Kept, so that a program can go back.
struct WireVersions {
  int64_t program = 2006002;
  std::map<std::string, int32_t, std::less<>> ops = {};
  bool operator==(const WireVersions&) const = default;
};

class Program : public std::enable_shared_from_this<Program> {
 public:
  Program();
  Program(const Program&) = delete;
  Program& operator=(const Program&) = delete;

  Block& global_block() const { return *blocks_.front(); }
  Block& block(int32_t index) const;
  int32_t num_blocks() const { return static_cast<int32_t>(blocks_.size()); }
  const std::vector<std::unique_ptr<Block>>& blocks() const { return blocks_; }
  // Where layers append. Sub-blocks of control flow are entered and left.
  Block& current_block() const { return block(current_); }
  Block& create_block(int32_t parent);
  Block& enter_block();  // a new block inside the current one
  void leave_block();

  // Tells two programs apart for as long as the process lives.
  uint64_t id() const { return id_; }
  // Grows with every change, so that a plan knows when it is out of date.
  uint64_t version() const { return version_; }
  void touch() { ++version_; }

  // 0: every run draws anew; otherwise random operators without a seed of their own use this one.
  int64_t random_seed() const { return random_seed_; }
  void set_random_seed(int64_t seed) {
    random_seed_ = seed;
    touch();
  }

  const WireVersions& wire_versions() const { return wire_versions_; }
  void set_wire_versions(WireVersions versions) { wire_versions_ = std::move(versions); }

  std::vector<Var*> parameters() const;
  BuildState& build() { return build_; }

  // A copy. With for_test: is_test is set where an op carries it; the ops of backward, optimizer
  // and learning-rate schedule are left out, with the variables and blocks that only they used.
  std::shared_ptr<Program> clone(bool for_test = false) const;
  // A copy with the ops that `targets` need, reading `feeds` as given, and the variables and blocks
  // that those use. Writes that come after the last read are not needed, so that a training program
  // pruned to its loss holds no optimizer. An op that is kept keeps its sub-blocks whole.
  std::shared_ptr<Program> prune(const std::vector<std::string>& feeds,
                                 const std::vector<std::string>& targets) const;

 private:
  friend class Block;

  uint64_t id_;
  uint64_t version_ = 0;
  int64_t random_seed_ = 0;
  WireVersions wire_versions_;
  int32_t current_ = 0;
  std::vector<std::unique_ptr<Block>> blocks_;
  BuildState build_;
  UniqueNames temporaries_;
};

}  // namespace flotilla
