// flotilla/ops/fused/lookup_concat_test.cc

#include "flotilla/testing/check_op.h"

namespace flotilla {
namespace {

using Ints = std::vector<int64_t>;

const Tensor kTable = tensor({{1, 2}, {3, 4}, {5, 6}});

Attrs attrs(Ints tables, Ints offsets, Ints columns, Ints paddings, Ints x_offsets, Ints sparse) {
  return {{"tables", std::move(tables)},       {"offsets", std::move(offsets)},
          {"columns", std::move(columns)},     {"padding_idx", std::move(paddings)},
          {"x_offsets", std::move(x_offsets)}, {"is_sparse", std::move(sparse)}};
}

TEST(LookupConcat, KnownValues) {
  const Attrs two = attrs({0, 0}, {3, 0}, {2, 2}, {-1, -1}, {2}, {0});
  for (const DType dtype : {i64, i32}) {
    const auto found = run_op("lookup_concat",
                              {{"Ids", {ints({2, 0}, dtype), ints({1, 1}, {2, 1})}},
                               {"W", kTable},
                               {"X", tensor({7, 8}, {2, 1})}},
                              two);
    EXPECT_THAT(found.at("Out"), near(tensor({{3, 4, 7, 5, 6}, {3, 4, 8, 1, 2}}), 0));
  }
}

TEST(LookupConcat, SeveralIdsInARowAndPadding) {
  for (const int64_t padding : {1, -2}) {  // also counted from the end
    const auto found = run_op("lookup_concat", {{"Ids", ints({2, 1, 0, 0}, {2, 2})}, {"W", kTable}},
                              attrs({0}, {0}, {4}, {padding}, {}, {0}));
    EXPECT_THAT(found.at("Out"), near(tensor({{5, 6, 0, 0}, {1, 2, 1, 2}}), 0));
  }
}

TEST(LookupConcat, AllKernelsAgree) {
  for (const int64_t sparse : {0, 1}) {
    for (const int64_t padding : {-1, 1}) {
      check_op({.type = "lookup_concat",
                .inputs = {{"Ids",
                            {ints({1, 5, 1}), ints({1, 3, 1, 0, 2, 2}, {3, 2}, i32),
                             ints({1, 1, 0}, {3, 1})}},
                           {"W", {uniform({6, 3}, -1, 1), uniform({4, 2}, -1, 1, 2)}},
                           {"X", uniform({3, 2}, -1, 1, 3)}},
                .attrs = attrs({0, 1, 0}, {2, 8, 5}, {3, 4, 3}, {padding, -1, padding}, {0},
                               {sparse, 0})});
    }
  }
}

// Long enough for several threads; wide and narrow rows.
TEST(LookupConcat, GivesWhatLookupsGive) {
  const int64_t n = 3000;
  for (const int64_t width : {1, 3, 4, 10, 33}) {
    const Tensor table = uniform({50, width}, -1, 1), ids = uniform_ints({n, 1}, 0, 50),
                 others = uniform_ints({n, 1}, 0, 50, 5);
    const auto found = run_op("lookup_concat", {{"Ids", {ids, others}}, {"W", table}},
                              attrs({0, 0}, {0, width}, {width, width}, {-1, -1}, {}, {0}));
    const auto left = run_op("lookup_table", {{"Ids", ids}, {"W", table}});
    const auto right = run_op("lookup_table", {{"Ids", others}, {"W", table}});
    const auto both = run_op("concat", {{"X", {left.at("Out"), right.at("Out")}}}, {{"axis", 1}});
    EXPECT_THAT(found.at("Out"), near(both.at("Out"), 0));
  }
}

TEST(LookupConcat, Refusals) {
  const Tensor ids = ints({0, 1});
  const auto with = [&](const Attrs& attrs) {
    return build_op("lookup_concat", {{"Ids", ids}, {"W", kTable}}, attrs);
  };
  EXPECT_REFUSED(run_op("lookup_concat", {{"Ids", ints({0, 3})}, {"W", kTable}},
                        attrs({0}, {0}, {2}, {-1}, {}, {0})),
                 "id 3 at position 1 is not a row of the table \"W_0\", which has the rows 0 to 2");
  EXPECT_REFUSED(run_op("lookup_concat_grad",
                        {{"Ids", ints({0, 3})}, {"W", kTable}, {"Out@GRAD", full({2, 2}, 1)}},
                        attrs({0}, {0}, {2}, {-1}, {}, {0}), {.outputs = {{"W@GRAD", 1}}}),
                 "id 3 at position 1 is not a row of the table, which has the rows 0 to 2");
  EXPECT_REFUSED(with(attrs({0}, {0, 2}, {2}, {-1}, {}, {0})),
                 "offsets must hold a number for each of 1 variables in Ids, but holds 2");
  EXPECT_REFUSED(with(attrs({1}, {0}, {2}, {-1}, {}, {0})),
                 "tables must number the 1 variables in W, but holds 1");
  EXPECT_REFUSED(with(attrs({0}, {0}, {3}, {-1}, {}, {0})),
                 "columns must hold multiples of a table's width 2, but holds 3");
  EXPECT_REFUSED(with(attrs({0}, {0}, {8}, {-1}, {}, {0})),
                 "2 rows of 2 elements do not fill rows of 8 columns, those of Ids[0]");
  EXPECT_REFUSED(with(attrs({0}, {1}, {2}, {-1}, {}, {0})),
                 "a piece must begin at column 0, where the one before it ends, but begins at 1");
  EXPECT_REFUSED(build_op("lookup_concat", {{"Ids", {ids, ints({0})}}, {"W", kTable}},
                          attrs({0, 0}, {0, 2}, {2, 2}, {-1, -1}, {}, {0})),
                 "Ids[1] has 1 rows, but others have 2");
  EXPECT_REFUSED(
      build_op("lookup_concat_grad", {{"Ids", ids}, {"W", kTable}, {"Out@GRAD", full({2, 3}, 1)}},
               attrs({0}, {0}, {2}, {-1}, {}, {0}), {.outputs = {{"W@GRAD", 1}}}),
      "Out@GRAD must have the shape [2, 2] of Out, but has [2, 3]");
}

}  // namespace
}  // namespace flotilla
