// SPDX-License-Identifier: Apache-2.0
#include "engine/registry.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "support/isas.hpp"
#include "tessera/tessera.hpp"

namespace tessera::testing {
namespace {

TEST(ForcedInstructionSet, IsTheOneThatRuns) {
  const float rows[] = {1, 2, 3};
  for (const std::string& isa : isas()) {
    const ForcedIsa forced(isa);
    EXPECT_EQ(engine::select_kernels().isa, isa);
    EXPECT_EQ(build_info().isa, isa);
    EXPECT_EQ(knn(dense(rows, 1, 1), dense(rows, 3, 1), 1).report.isa, isa);
    EXPECT_EQ(PreparedBase(dense(rows, 3, 1)).search(dense(rows, 1, 1), 1).report.isa, isa);
  }
}

TEST(ForcedInstructionSet, MustBeOneThatIsKnown) {
  const ForcedIsa forced("sse9");
  try {
    engine::select_kernels();
    FAIL() << "accepted";
  } catch (const Error& e) {
    EXPECT_EQ(e.code(), ErrorCode::invalid_argument);
    EXPECT_NE(std::string(e.what()).find("sse9"), std::string::npos);
  }
}

TEST(InstructionSets, BeginWithScalarAndEndWithTheBestUsable) {
  const auto built = engine::isas_built();
  const auto usable = engine::isas_usable();
  ASSERT_FALSE(usable.empty());
  EXPECT_EQ(built.front(), "scalar");
  EXPECT_EQ(usable.front(), "scalar");
  EXPECT_TRUE(std::includes(built.begin(), built.end(), usable.begin(), usable.end(), [&](const std::string& a, const std::string& b) {
    return std::find(built.begin(), built.end(), a) < std::find(built.begin(), built.end(), b);
  }));
  const ForcedIsa nothing("");
  EXPECT_EQ(engine::select_kernels().isa, usable.back());
}

TEST(KernelTables, AreCompleteAndCarryTheirName) {
  for (const std::string& isa : isas()) {
    const auto& k = kernels_of(isa);
    EXPECT_EQ(k.isa, isa);
    EXPECT_EQ(48 % k.panel_cols, 0) << "tests rely on tiles of 48 being whole panels";
    EXPECT_EQ(k.panel_rows & (k.panel_rows - 1), 0);
    for (const auto canonical : k.canonical) EXPECT_NE(canonical, nullptr);
    for (const auto convert : k.convert) EXPECT_NE(convert, nullptr);
  }
}

}  // namespace
}  // namespace tessera::testing
