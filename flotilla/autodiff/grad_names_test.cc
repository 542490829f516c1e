#include "flotilla/autodiff/grad_names.h"

#include <gmock/gmock.h>

namespace flotilla::autodiff {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

TEST(GradNamesTest, OnePartHasTheNameOfTheGradient) {
  Program program;
  GradNames names(program.global_block());
  const std::string part = names.add_part("x");
  EXPECT_TRUE(names.has_parts("x"));
  EXPECT_EQ(names.any_with_parts(), "x");
  EXPECT_THAT(names.take("x"), ElementsAre(part));
  EXPECT_EQ(names.name_of(part), "x@GRAD");
  EXPECT_EQ(names.name_of("before_" + part + "_after"), "before_x@GRAD_after");
  EXPECT_EQ(names.any_with_parts(), std::nullopt);
  EXPECT_THAT(names.take("x"), IsEmpty());
}

TEST(GradNamesTest, SeveralPartsAreNumberedAlsoOverVersions) {
  Program program;
  GradNames names(program.global_block());
  const auto take_two = [&] {
    names.add_part("x");
    names.add_part("x");
    std::vector<std::string> found;
    for (const std::string& part : names.take("x")) found.push_back(names.name_of(part));
    return found;
  };
  EXPECT_THAT(take_two(), ElementsAre("x@GRAD@RENAME@block0@0", "x@GRAD@RENAME@block0@1"));
  EXPECT_THAT(take_two(), ElementsAre("x@GRAD@RENAME@block0@2", "x@GRAD@RENAME@block0@3"));
}

TEST(GradNamesTest, PartsWithNamesKeepThem) {
  Program program;
  GradNames names(program.global_block());
  names.add_part("x", "given");
  const std::string other = names.add_part("x");
  EXPECT_THAT(names.take("x"), ElementsAre("given", other));
  EXPECT_EQ(names.name_of("given"), "given");
  EXPECT_EQ(names.name_of(other), "x@GRAD@RENAME@block0@1");
}

TEST(GradNamesTest, ANameOfTheProgramIsNotGivenAgain) {
  Program program;
  program.global_block().add_var({.name = "x@GRAD"});
  GradNames names(program.global_block());
  EXPECT_EQ(names.base_name("x"), "x@GRAD_0");
  names.set_base_name("y", "y@GRAD@ROUND");
  EXPECT_EQ(names.named({{"X", {names.add_part("y"), "z"}}}).at("X").back(), "z");
  EXPECT_EQ(names.base_name("y"), "y@GRAD@ROUND");
}

}  // namespace
}  // namespace flotilla::autodiff
