#include "flotilla/runtime/model_io.h"

#include <gmock/gmock.h>

#include "flotilla/testing/errors.h"
#include "flotilla/testing/killed.h"
#include "flotilla/testing/temp_dir.h"

namespace flotilla {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;
using testing::StartsWith;

Tensor pair(float value) { return Tensor::of<float>(std::vector<float>{value, value}, {2}); }

class ModelFiles : public testing::Test, protected TempDir {
 protected:
  // A program of parameters, all of which have this value.
  std::shared_ptr<Program> model(float value) {
    auto program = std::make_shared<Program>();
    for (const std::string name : {"a", "b", "c"}) {
      program->global_block().add_var(
          {.name = name, .dtype = f32, .shape = {2}, .persistable = true});
      scope_.var(name) = pair(value);
    }
    return program;
  }

  // The value that all of them have.
  float value(Scope& scope) {
    const float first = scope.find("a")->span<float>()[0];
    for (const char* name : {"a", "b", "c"}) {
      EXPECT_THAT(scope.find(name)->span<float>(), testing::Each(first));
    }
    return first;
  }

  Scope scope_;
};

// Whatever `save` writes, `load` reads all of it or nothing of it, wherever a save is killed.
void check_kills(const std::function<void(float)>& save, const std::function<float()>& load) {
  save(1);
  float last = 1;
  for (int number = 1; number < 2000; ++number) {
    const End end = run_until_call(number, [&] { save(last + 1); });
    if (end == End::kNotTraced) GTEST_SKIP() << "this process may not trace its children";
    const float found = load();
    ASSERT_TRUE(found == last || found == last + 1) << found << " before call " << number;
    last = found;
    if (end == End::kDone) break;
  }
  EXPECT_GT(last, 1);
}

TEST_F(ModelFiles, SavesOfVariablesAreWholeWhereverTheyAreKilled) {
  check_kills(
      [&](float value) { save_vars(file("vars"), persistable_names(*model(value)), scope_); },
      [&] {
        Scope scope;
        load_vars(file("vars"), {"a", "b", "c"}, scope);
        return value(scope);
      });
}

TEST_F(ModelFiles, SavesOfModelsAreWholeWhereverTheyAreKilled) {
  check_kills(
      [&](float value) {
        const auto program = model(value);
        program->global_block().add_var({.name = fmt::format("{}", value)});
        write_inference_model(file("m"), *program, scope_);
      },
      [&] {
        Scope scope;
        const auto program = load_inference_model(file("m"), scope);
        const float found = value(scope);
        EXPECT_NE(program->global_block().find_var(fmt::format("{}", found)), nullptr);
        return found;
      });
}

TEST_F(ModelFiles, NamesDoNotBecomePathsOutOfTheFolder) {
  for (const std::string name : {"../x", "/tmp/x", "a/../../x", ""}) {
    scope_.var(name) = pair(1);
    EXPECT_THAT(refusal_of([&] { save_vars(file("in"), {name}, scope_); }),
                StartsWith("\"" + name + "\" cannot be the name of a saved file"));
    EXPECT_THAT(refusal_of([&] { load_vars(file("in"), {name}, scope_); }),
                StartsWith("\"" + name + "\" cannot be the name of a saved file"));
  }
  EXPECT_THAT(names(), testing::IsEmpty());
  scope_.var("tower/w") = pair(1);
  save_vars(file("in"), {"tower/w"}, scope_);
  EXPECT_TRUE(fs::exists(dir_ / "in" / "tower" / "w"));
  load_vars(file("in"), {"tower/w"}, scope_);
  // One file for all has no use for their names.
  save_combined(file("all"), {"../x"}, scope_);
  load_combined(file("all"), {"../x"}, scope_);
}

TEST_F(ModelFiles, ADamagedFileIsRefusedByName) {
  save_vars(file("vars"), persistable_names(*model(1)), scope_);
  std::string bytes = get("vars/b");
  bytes.back() ^= 1;
  put("vars/b", bytes);
  EXPECT_THAT(refusal_of([&] {
                load_vars(file("vars"), {"a", "b"}, scope_);
              }),
              HasSubstr("vars/b is not the file that was saved"));
}

}  // namespace
}  // namespace flotilla
