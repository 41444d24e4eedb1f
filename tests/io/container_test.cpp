// SPDX-License-Identifier: Apache-2.0
#include "io/container.hpp"

#include "fixtures.hpp"

namespace tessera::io::test {
namespace {

const std::vector<ArrayEntry> kArrays = {{.name = "train", .type = "f4", .shape = {5, 2}},
                                         {.name = "labels", .type = "i4", .shape = {5}},
                                         {.name = "test", .type = "f4", .shape = {3, 2}}};

TEST(Container, TakesTheArrayNamedEvenAmongOthers) {
  EXPECT_EQ(choose_array(kArrays, {.file = "x", .wanted = "labels", .preferred = "train"}), 1U);
}

TEST(Container, TakesTheOnlyArrayOrTheOnlyTwoDimensionalOne) {
  EXPECT_EQ(choose_array({kArrays[1]}, {.file = "x", .wanted = "", .preferred = ""}), 0U);
  EXPECT_EQ(choose_array({kArrays[1], kArrays[2]}, {.file = "x", .wanted = "", .preferred = "train"}), 1U);
}

TEST(Container, TakesThePreferredOneOfSeveral) {
  EXPECT_EQ(choose_array(kArrays, {.file = "x", .wanted = "", .preferred = "train"}), 0U);
  const std::vector<ArrayEntry> nameless = {{.name = "", .type = "f4", .shape = {1, 1}}, kArrays[0]};
  error_of(ErrorCode::invalid_argument,
           [&] { choose_array(nameless, {.file = "x", .wanted = "", .preferred = ""}); });
}

TEST(Container, ListsWhatIsThereOtherwise) {
  const std::string none = error_of(
      ErrorCode::invalid_argument, [] { choose_array(kArrays, {.file = "x", .wanted = "emb", .preferred = ""}); });
  EXPECT_CONTAINS(none, "no array named 'emb'");
  EXPECT_CONTAINS(none, "train f4 (5, 2), labels i4 (5,), test f4 (3, 2)");
  const std::string many = error_of(
      ErrorCode::invalid_argument, [] { choose_array(kArrays, {.file = "x", .wanted = "", .preferred = ""}); });
  EXPECT_CONTAINS(many, "2 2-D arrays");
}

TEST(Container, ListsTwentyArraysAndCountsTheRest) {
  const std::vector<ArrayEntry> many(25, {.name = "w", .type = "F32", .shape = {2, 2}});
  EXPECT_CONTAINS(error_of(ErrorCode::invalid_argument,
                           [&] { choose_array(many, {.file = "x", .wanted = "", .preferred = ""}); }),
                  "and 5 more");
}

TEST(Container, PrintsNamesWithoutControlCharacters) {
  EXPECT_EQ(printable("a\nb\x1b\x7f"), "a?b??");
  EXPECT_EQ(printable("abcdef", 3), "abc...");
}

}  // namespace
}  // namespace tessera::io::test
