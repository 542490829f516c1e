#include "flotilla/ir/proto.h"

#include <gmock/gmock.h>

#include <random>

#include "flotilla/ir/framework.pb.h"
#include "flotilla/ir/text.h"
#include "flotilla/testing/errors.h"
#include "flotilla/testing/random_program.h"

namespace flotilla {
namespace {

constexpr std::string_view kAccepted = "(not refused)";

namespace pb = paddle::framework::proto;

using ::testing::HasSubstr;

// Every kind of attribute and of variable, written by the Python classes of Paddle 2.6.2.
constexpr std::string_view kFromPaddle =
    "0ac804080010ffffffffffffffffff011a230a0178121808071a140a10080510ffffffffffffffffff011090"
    "0610011800200130011a150a0177120c08071a080a04081610031000180128011a110a0167120a0808120608"
    "06100a100218001a150a03617272120c080d22080a0408031001100218001a200a01721219080f2a150a130a"
    "0f080210ffffffffffffffffff011004100118011a0c0a04666565641202080918001a0d0a05666574636812"
    "02080a18001a0d0a0573746570731202080b18001a0d0a057461626c651202080c18001a0e0a06706c616365"
    "731202080e18001a0b0a0372617712020811180022d8020a090a015812017812017712080a034f7574120179"
    "1a09616c6c5f6b696e647322120a03613030100018fbffffffffffffffff01220c0a03613031100125000000"
    "3f220d0a0361303210022a047465787422140a036130331003300130feffffffffffffffff01220c0a036130"
    "3410043d0000803e220d0a03613035100542016142016222090a0361303610065001220b0a03613037100758"
    "01580022090a0361303810086001220e0a0361303910096880808080802022090a03613130100a700122090a"
    "03613131100b780722110a03613132100c81019a9999999999b93f220b0a03613133100d8a010178220f0a03"
    "613134100e920101789201017722110a03613135100f99019a9999999999b93f220e0a036131361010a20104"
    "0802180322350a036131371011aa010408011001aa010b080321000000000000e03faa011608042a12090000"
    "00000000f03f1100000000000000400a04080110000a06080210002801220408f2b77a2a110a0f0a09736574"
    "5f76616c756512020804";

std::string from_hex(std::string_view hex) {
  std::string bytes;
  for (size_t i = 0; i < hex.size(); i += 2) {
    bytes += static_cast<char>(std::stoi(std::string(hex.substr(i, 2)), nullptr, 16));
  }
  return bytes;
}

// A small program that is right; each test bends it.
pb::ProgramDesc sound() {
  pb::ProgramDesc program;
  for (int i = 0; i < 2; ++i) {
    pb::BlockDesc* block = program.add_blocks();
    block->set_idx(i);
    block->set_parent_idx(i - 1);
    pb::VarDesc* var = block->add_vars();
    var->set_name("x");
    var->mutable_type()->set_type(pb::VarType::LOD_TENSOR);
    pb::VarType::TensorDesc* tensor = var->mutable_type()->mutable_lod_tensor()->mutable_tensor();
    tensor->set_data_type(pb::VarType::FP32);
    tensor->add_dims(2);
    pb::OpDesc* op = block->add_ops();
    op->set_type("scale");
    pb::OpDesc::Var* input = op->add_inputs();
    input->set_parameter("X");
    input->add_arguments("x");
    pb::OpDesc::Attr* attr = op->add_attrs();
    attr->set_name("bias");
    attr->set_type(pb::FLOAT);
    attr->set_f(1);
  }
  return program;
}

std::string bend(const std::function<void(pb::ProgramDesc&)>& change) {
  pb::ProgramDesc program = sound();
  change(program);
  return message_of([&] { deserialize(program.SerializePartialAsString()); });
}

pb::OpDesc& op_of(pb::ProgramDesc& program) { return *program.mutable_blocks(0)->mutable_ops(0); }
pb::VarDesc& var_of(pb::ProgramDesc& program) {
  return *program.mutable_blocks(0)->mutable_vars(0);
}
pb::VarType::TensorDesc& tensor_of(pb::ProgramDesc& program) {
  return *var_of(program).mutable_type()->mutable_lod_tensor()->mutable_tensor();
}

TEST(Proto, ReadsAndWritesWhatPaddleWrites) {
  const std::string bytes = from_hex(kFromPaddle);
  const auto program = deserialize(bytes);
  EXPECT_EQ(print(*program),
            "op_versions {set_value=4}\n"
            "var x f32[-1, 784] lod=1 stop_gradient data check_feed\n"
            "var w bf16[3] persistable parameter\n"
            "var g selected_rows f64[10, 2]\n"
            "var arr tensor_array i64[1] lod=2\n"
            "var r reader slots(i32[-1, 4] lod=1) persistable\n"
            "var feed feed\n"
            "var fetch fetch\n"
            "var steps step_scopes\n"
            "var table rank_table\n"
            "var places place_list\n"
            "var raw raw\n"
            "all_kinds(X=[x, w]) -> y {a00=-5, a01=0.5, a02=\"text\", a03=[1, -2], a04=[0.25], "
            "a05=[\"a\", \"b\"], a06=true, a07=[true, false], a08=block 1, a09=1099511627776L, "
            "a10=[block 1], a11=[7L], a12=[0.1d], a13=var x, a14=[var x, var w], a15=0.1d, "
            "a16=scalar(3), a17=[scalar(true), scalar(0.5), scalar(1.0, 2.0)]}\n"
            "block 1 in 0 {\n}\n"
            "block 2 in 0 forward 1 {\n}\n");
  EXPECT_EQ(serialize(*program), bytes);
}

TEST(Proto, WhatGoesOutComesBack) {
  for (uint64_t seed = 0; seed < 1000; ++seed) {
    SCOPED_TRACE(seed);
    const auto program = RandomProgram(seed).make();
    const std::string bytes = serialize(*program);
    const auto back = deserialize(bytes);
    ASSERT_EQ(serialize(*back), bytes);
    ASSERT_EQ(back->num_blocks(), program->num_blocks());
    for (int32_t i = 0; i < program->num_blocks(); ++i) {
      ASSERT_EQ(back->block(i).size(), program->block(i).size());
      for (size_t k = 0; k < program->block(i).size(); ++k) {
        const Op &before = program->block(i).op(k), &after = back->block(i).op(k);
        EXPECT_EQ(after.inputs(), before.inputs());
        EXPECT_EQ(after.outputs(), before.outputs());
        Attrs expected = before.attrs();
        std::erase_if(expected, [](const auto& attr) {
          return std::holds_alternative<std::monostate>(attr.second);  // None is not written
        });
        EXPECT_EQ(after.attrs(), expected);
      }
    }
  }
}

TEST(Proto, ParametersAndDataAreKnownAgain) {
  const auto program = parse(R"(
    var w f32[2] persistable parameter
    var frozen f32[2] persistable stop_gradient parameter(trainable=false)
    var declared f32[2] data check_feed
    var old_style f32[2] data
    var y f32[2]
    op(X=[w, frozen, declared, old_style]) -> y
    op(X=y) -> y
  )");
  const auto came_back = deserialize(serialize(*program));
  const Block& back = came_back->global_block();
  EXPECT_TRUE(back.var("w").parameter->trainable);
  EXPECT_FALSE(back.var("frozen").parameter->trainable);
  EXPECT_TRUE(back.var("declared").need_check_feed);
  EXPECT_TRUE(back.var("declared").is_data);
  // The wire does not say that it is fed, but nothing else could fill it.
  EXPECT_TRUE(back.var("old_style").is_data);
  EXPECT_FALSE(back.var("y").is_data);
  EXPECT_FALSE(back.var("w").is_data);
}

TEST(Proto, VersionsAreKept) {
  Program program;
  program.set_wire_versions({1008005, {{"set_value", 4}}});
  EXPECT_EQ(deserialize(serialize(program))->wire_versions(),
            (WireVersions{1008005, {{"set_value", 4}}}));
  EXPECT_EQ(deserialize(serialize(Program()))->wire_versions().program, 2006002);
}

TEST(Proto, NegativeExtentsAreUnknown) {
  pb::ProgramDesc program = sound();
  tensor_of(program).set_dims(0, -784);
  const auto back = deserialize(program.SerializeAsString());
  EXPECT_EQ(back->global_block().var("x").shape, Shape({-1}));
}

TEST(Proto, RefusesBytesThatAreNoProgram) {
  EXPECT_EQ(message_of([] { deserialize(""); }),
            "a program needs at least one block, but there is none");
  EXPECT_EQ(message_of([] { deserialize("hello world"); }),
            "the 11 bytes are not a program: there is no field at byte 2");
  const std::string whole = sound().SerializeAsString();
  EXPECT_THAT(message_of([&] { deserialize(std::string_view(whole).substr(0, 9)); }),
              HasSubstr("the 9 bytes are not a program: field 1 at byte 0 takes "));
  // A length within block 0 that reaches beyond it.
  std::string bent = whole;
  bent[whole.find("scale") - 1] = '\x7f';
  EXPECT_THAT(message_of([&] { deserialize(bent); }), HasSubstr(" takes 127 bytes, but only "));
  EXPECT_THAT(bend([](auto& p) { op_of(p).clear_type(); }),
              HasSubstr("fields are missing or have unknown codes: blocks[0].ops[0].type"));
  EXPECT_THAT(bend([](auto& p) { p.mutable_blocks(1)->mutable_vars(0)->clear_name(); }),
              HasSubstr("blocks[1].vars[0].name"));
}

TEST(Proto, RefusesUnknownCodes) {
  // 1d is what no attribute has as its type; it stands after the field's tag, 10.
  std::string bytes = sound().SerializeAsString();
  const std::string attr(
      "\x0a\x04"
      "bias"
      "\x10\x01");
  const size_t found = bytes.find(attr);
  ASSERT_NE(found, std::string::npos);
  bytes[found + attr.size() - 1] = '\x1d';
  EXPECT_THAT(message_of([&] { deserialize(bytes); }), HasSubstr("blocks[0].ops[0].attrs[0].type"));
  EXPECT_EQ(bend([](auto& p) { var_of(p).mutable_type()->set_type(pb::VarType::TUPLE); }),
            "block 0, variable x: unknown variable type TUPLE");
  EXPECT_EQ(bend([](auto& p) { var_of(p).mutable_type()->set_type(pb::VarType::FP32); }),
            "block 0, variable x: unknown variable type FP32");
  EXPECT_EQ(bend([](auto& p) { tensor_of(p).set_data_type(pb::VarType::COMPLEX64); }),
            "block 0, variable x: unknown element type COMPLEX64, and no op writes it");
}

// Paddle 1.8 writes the kind of a variable where the type of its elements stands.
TEST(Proto, AnOpDecidesWhatItWrites) {
  pb::ProgramDesc program = sound();
  pb::VarDesc& var = *program.mutable_blocks(0)->add_vars();
  var = var_of(program);
  var.set_name("made");
  pb::OpDesc::Var& out = *op_of(program).add_outputs();
  out.set_parameter("Made");
  out.add_arguments("made");
  var.mutable_type()->mutable_lod_tensor()->mutable_tensor()->set_data_type(
      pb::VarType::LOD_TENSOR);
  EXPECT_EQ(message_of([&] { deserialize(program.SerializeAsString()); }), kAccepted);
  var.set_persistable(true);
  EXPECT_EQ(message_of([&] { deserialize(program.SerializeAsString()); }),
            "block 0, variable made: unknown element type LOD_TENSOR");
}

TEST(Proto, RefusesPartsThatDoNotFitTogether) {
  EXPECT_EQ(bend([](auto& p) { p.mutable_blocks(1)->set_idx(7); }),
            "block 1 says that it is block 7");
  EXPECT_EQ(bend([](auto& p) { p.mutable_blocks(0)->set_parent_idx(1); }),
            "the global block says that it lies in block 1");
  for (const int32_t parent : {1, -1, 2, 1000000, -2147483647}) {
    EXPECT_EQ(
        bend([&](auto& p) { p.mutable_blocks(1)->set_parent_idx(parent); }),
        fmt::format("block 1 must lie in a block before it, but says that it lies in block {}",
                    parent));
  }
  EXPECT_EQ(bend([](auto& p) { *p.mutable_blocks(0)->add_vars() = var_of(p); }),
            "block 0: variable x is declared twice");
  EXPECT_EQ(bend([](auto& p) { op_of(p).add_inputs()->set_parameter("X"); }),
            "block 0, op #0 (scale): input X is given twice");
  EXPECT_EQ(bend([](auto& p) {
              *op_of(p).add_attrs() = op_of(p).attrs(0);
              op_of(p).mutable_attrs(0)->set_f(7);
            }),
            "block 0, op #0 (scale): attribute bias has two values");
  EXPECT_EQ(bend([](auto& p) { p.mutable_blocks(1)->set_forward_block_idx(9); }),
            "block 1 names block 9 as its forward block, but the program has 2 blocks");
  const auto run_block = [](int32_t index) {
    return [=](pb::ProgramDesc& p) {
      op_of(p).mutable_attrs(0)->set_type(pb::BLOCK);
      op_of(p).mutable_attrs(0)->set_block_idx(index);
    };
  };
  EXPECT_EQ(bend(run_block(1)), kAccepted);
  EXPECT_EQ(bend(run_block(0)), "block 0 runs itself, through the ops of block 0");
  EXPECT_EQ(bend(run_block(-1)),
            "block 0, op #0 (scale): attribute bias names block -1, but the program has 2 blocks");
  EXPECT_EQ(
      bend([](auto& p) { var_of(p).mutable_type()->mutable_lod_tensor()->set_lod_level(-1); }),
      "block 0, variable x: a lod_level must lie in [0, 64], but is -1");
}

TEST(Proto, RefusesExtentsThatOverflow) {
  const auto with_dims = [](std::vector<int64_t> dims) {
    return bend([&](auto& p) { tensor_of(p).mutable_dims()->Assign(dims.begin(), dims.end()); });
  };
  const std::string refused =
      "block 0, variable x: it can have 2^55 elements at most, but has shape ";
  EXPECT_EQ(with_dims({int64_t{1} << 62}), refused + "[4611686018427387904]");
  EXPECT_EQ(with_dims({int64_t{1} << 40, int64_t{1} << 40, 0}),
            refused + "[1099511627776, 1099511627776, 0]");
  EXPECT_EQ(with_dims({-1, int64_t{1} << 40, int64_t{1} << 40}),
            refused + "[-1, 1099511627776, 1099511627776]");
  EXPECT_EQ(with_dims({int64_t{1} << 55}), kAccepted);
  EXPECT_EQ(with_dims({0, 0, -1, 1000000, 1000000}), kAccepted);
}

TEST(Proto, ABlockThatNamesItselfAsItsForwardBlockHasNone) {
  pb::ProgramDesc program = sound();
  program.mutable_blocks(1)->set_forward_block_idx(1);
  EXPECT_EQ(deserialize(program.SerializeAsString())->block(1).forward_block(), -1);
}

TEST(Proto, SurvivesAnyDamage) {
  std::mt19937 random(1);
  for (uint64_t seed = 0; seed < 50; ++seed) {
    const std::string bytes = serialize(*RandomProgram(seed).make());
    for (size_t cut = 0; cut < bytes.size(); cut += 7) {
      message_of([&] { deserialize(std::string_view(bytes).substr(0, cut)); });
    }
    for (int flip = 0; flip < 100; ++flip) {
      std::string damaged = bytes;
      damaged[random() % damaged.size()] ^= static_cast<char>(1 << random() % 8);
      message_of([&] {
        const auto program = deserialize(damaged);
        ASSERT_EQ(print(*parse(print(*program))), print(*program));
      });
    }
  }
}

}  // namespace
}  // namespace flotilla
