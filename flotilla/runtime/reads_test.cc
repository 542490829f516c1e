#include "flotilla/runtime/reads.h"

#include <gmock/gmock.h>

#include "flotilla/data/batch_queue.h"
#include "flotilla/data/end_of_pass.h"
#include "flotilla/data/loader.h"
#include "flotilla/ir/text.h"
#include "flotilla/runtime/executor.h"
#include "flotilla/testing/errors.h"

namespace flotilla {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr std::string_view kProgram = R"(
    var x f32[-1] data
    var y f32[-1]
    var r reader slots(f32[-1]) persistable
    var b reader slots(f32[-1]) persistable
    create_py_reader(blocking_queue=q) -> Out=r
    create_double_buffer_reader(UnderlyingReader=r) -> Out=b
    read(Reader=b) -> Out=[x]
    scale(X=x) -> Out=y {scale=2.0}
)";

Tensor numbers(std::vector<float> values) {
  const auto count = static_cast<int64_t>(values.size());
  return Tensor::of<float>(values, Shape{count});
}

std::vector<float> run(Executor& executor, const Program& program, Scope& scope,
                       std::vector<Feed> feeds = {}) {
  const auto results = executor.run(program, feeds, {"y"}, scope);
  const std::span<float> span = std::get<Tensor>(results[0]).span<float>();
  return {span.begin(), span.end()};
}

TEST(Reads, FindsTheReaderBelowADoubleBuffer) {
  const std::vector<Read> reads = reads_of(*parse(std::string(kProgram)));
  ASSERT_EQ(reads.size(), 1u);
  EXPECT_EQ(reads[0].reader, "r");
  EXPECT_THAT(reads[0].outputs, ElementsAre("x"));
}

TEST(Reads, ARunTakesABatchAndThrowsAtTheEndOfAPass) {
  const auto program = parse(std::string(kProgram));
  Executor executor;
  Scope scope;
  scope.set_reader("r",
                   std::make_shared<data::Loader>(data::Columns{data::rows_of(numbers({1, 2, 3}))},
                                                  data::LoaderOptions{.batch_size = 2}));
  for (int pass = 0; pass < 2; ++pass) {
    EXPECT_THAT(run(executor, *program, scope), ElementsAre(2, 4));
    // In a scope inside it the same loader is found.
    EXPECT_THAT(run(executor, *program, scope.new_scope()), ElementsAre(6));
    EXPECT_THROW(run(executor, *program, scope), data::EndOfPass);
  }
}

TEST(Reads, WhatIsFedIsNotRead) {
  const auto program = parse(std::string(kProgram));
  Executor executor;
  Scope scope;
  EXPECT_THAT(run(executor, *program, scope, {{"x", numbers({5})}}), ElementsAre(10));
}

TEST(Reads, RefusesAReaderThatNobodyMade) {
  const auto program = parse(std::string(kProgram));
  Executor executor;
  Scope scope;
  EXPECT_THAT(message_of([&] { run(executor, *program, scope); }),
              HasSubstr("the program reads from \"r\", but this scope has no loader of that name"));
}

TEST(Reads, RefusesABatchWithOtherFields) {
  const auto program = parse(std::string(kProgram));
  Executor executor;
  Scope scope;
  const auto queue = std::make_shared<data::BatchQueue>(2);
  scope.set_reader("r", queue);
  EXPECT_THAT(message_of([&] { run(executor, *program, scope); }), HasSubstr("was not started"));
  queue->start()->push({numbers({1}), numbers({2})});
  EXPECT_THAT(message_of([&] { run(executor, *program, scope); }),
              HasSubstr("the reader \"r\" gave 2 fields, but the program reads 1"));
}

}  // namespace
}  // namespace flotilla
