// flotilla/testing/random_program.h
//
// For tests: programs that hold everything a program can hold, drawn from a seed. They make no
// sense as computations, but their blocks are sound.

#pragma once

#include <cstdint>
#include <limits>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "flotilla/ir/program.h"

namespace flotilla {

class RandomProgram {
 public:
  explicit RandomProgram(uint64_t seed) : random_(seed) {}

  std::shared_ptr<Program> make() {
    auto program = std::make_shared<Program>();
    if (coin()) program->set_random_seed(whole());
    if (coin()) program->set_wire_versions({whole(), {{name(), 3}, {name(), -1}}});
    const int32_t blocks = below(5);
    for (int32_t i = 1; i <= blocks; ++i) {
      Block& block = program->create_block(below(i));
      if (coin()) block.set_forward_block(below(i));
      if (block.forward_block() == i) block.set_forward_block(-1);
    }
    for (const auto& block : program->blocks()) fill(*block);
    return program;
  }

  std::string name() {
    static const std::vector<std::string> kNames = {"x",
                                                    "fc_0.w_0",
                                                    "x@GRAD",
                                                    "@EMPTY@",
                                                    "Out",
                                                    "var",
                                                    "block",
                                                    "",
                                                    "a b",
                                                    "a\"b",
                                                    "a\\b",
                                                    "tab\t\r\n\x01\x7f",
                                                    "naïve",
                                                    "权重",
                                                    "\xff\xfe",
                                                    "[x]",
                                                    "a=b",
                                                    "3d",
                                                    "//",
                                                    "a//b",
                                                    "#1",
                                                    "-",
                                                    "true",
                                                    "nan",
                                                    std::string("nul\0byte", 8)};
    std::string picked = kNames[static_cast<size_t>(below(static_cast<int32_t>(kNames.size())))];
    return coin() ? picked : picked + "_" + std::to_string(below(100));
  }

  Attr attr(int32_t blocks) {
    switch (below(19)) {
      case 0:
        return {};
      case 1:
        return coin();
      case 2:
        return static_cast<int32_t>(whole());
      case 3:
        return whole();
      case 4:
        return static_cast<float>(real());
      case 5:
        return real();
      case 6:
        return name();
      case 7:
        // An op of a later block may run none: the generator keeps references free of cycles.
        return blocks > 1 ? Attr(BlockRef{blocks - 1}) : Attr(true);
      case 8:
        return VarRef{name()};
      case 9:
        return scalar();
      case 10:
        return list<bool>([&] { return coin(); });
      case 11:
        return list<int32_t>([&] { return static_cast<int32_t>(whole()); });
      case 12:
        return list<int64_t>([&] { return whole(); });
      case 13:
        return list<float>([&] { return static_cast<float>(real()); });
      case 14:
        return list<double>([&] { return real(); });
      case 15:
        return list<std::string>([&] { return name(); });
      case 16:
        return blocks > 1 ? Attr(list<BlockRef>([&] { return BlockRef{blocks - 1}; }))
                          : Attr(std::vector<BlockRef>());
      case 17:
        return list<VarRef>([&] { return VarRef{name()}; });
      default:
        return list<Scalar>([&] { return scalar(); });
    }
  }

 private:
  void fill(Block& block) {
    const int32_t blocks = block.program().num_blocks();
    // Only the last block is ever referred to, so its own ops refer to none.
    const int32_t allowed = block.index() == blocks - 1 ? 0 : blocks;
    for (int32_t i = below(6); i > 0; --i) block.add_var(var());
    for (int32_t i = below(6); i > 0; --i) {
      Op op(name(), slots(), slots());
      for (int32_t k = below(5); k > 0; --k) op.set_attr(name(), attr(allowed));
      block.push_back(op);
    }
  }

  Var var() {
    Var var{.name = name(),
            .kind = kVarKinds[below(static_cast<int32_t>(std::size(kVarKinds)))].kind,
            .dtype = dtype(),
            .shape = shape(),
            .lod_level = below(3),
            .persistable = coin(),
            .stop_gradient = coin(),
            .is_data = coin(),
            .need_check_feed = coin()};
    if (var.kind == VarKind::kReader) {
      for (int32_t i = below(3); i > 0; --i) var.reader.push_back({dtype(), shape(), below(3)});
    }
    if (coin()) var.parameter = parameter();
    return var;
  }

  ParameterInfo parameter() {
    ParameterInfo info{.trainable = coin(), .need_clip = coin(), .do_model_average = coin()};
    if (coin()) info.learning_rate = static_cast<float>(real());
    switch (below(4)) {
      case 0:
        info.regularizer = Regularizer{Regularizer::kNone, 0};
        break;
      case 1:
        info.regularizer = Regularizer{Regularizer::kL1, static_cast<float>(real())};
        break;
      case 2:
        info.regularizer = Regularizer{Regularizer::kL2, static_cast<float>(real())};
        break;
      default:
        break;
    }
    return info;
  }

  Scalar scalar() {
    switch (below(4)) {
      case 0:
        return {coin()};
      case 1:
        return {whole()};
      case 2:
        return {real()};
      default:
        return {std::complex<double>(real(), real())};
    }
  }

  Slots slots() {
    Slots slots;
    for (int32_t i = below(4); i > 0; --i) {
      std::vector<std::string>& vars = slots[coin() ? "Out" : name()];
      for (int32_t k = below(4); k > 0; --k) vars.push_back(name());
    }
    return slots;
  }

  Shape shape() {
    Shape shape;
    for (int32_t i = below(5); i > 0; --i) shape.push_back(below(1000) - 1);
    return shape;
  }

  DType dtype() { return static_cast<DType>(below(10)); }

  int64_t whole() {
    switch (below(4)) {
      case 0:
        return below(10);
      case 1:
        return -below(1000);
      case 2:
        return std::numeric_limits<int64_t>::min() + below(2);
      default:
        return static_cast<int64_t>(random_());
    }
  }

  double real() {
    static const std::vector<double> kReals = {0,
                                               -0.0,
                                               1,
                                               -1,
                                               0.1,
                                               1e-5,
                                               1e20,
                                               -1e-30,
                                               16777216,
                                               1.0 / 3,
                                               1e10,
                                               123456789.0,
                                               0.5,
                                               3e38,
                                               std::numeric_limits<double>::infinity(),
                                               -std::numeric_limits<double>::infinity()};
    if (coin()) return kReals[static_cast<size_t>(below(static_cast<int32_t>(kReals.size())))];
    return std::uniform_real_distribution<double>(-1000, 1000)(random_);
  }

  template <typename T, typename F>
  std::vector<T> list(F make_one) {
    std::vector<T> values;
    for (int32_t i = below(5); i > 0; --i) values.push_back(make_one());
    return values;
  }

  bool coin() { return random_() % 2 == 0; }
  int32_t below(int32_t end) {
    return static_cast<int32_t>(random_() % static_cast<uint64_t>(end));
  }

  std::mt19937_64 random_;
};

}  // namespace flotilla
