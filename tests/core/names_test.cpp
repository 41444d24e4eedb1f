// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "tessera/metric.hpp"
#include "tessera/options.hpp"

namespace tessera::testing {
namespace {

TEST(Names, OfMetricsReadBackAndHaveAliases) {
  for (const Metric metric : {Metric::l2, Metric::sqeuclidean, Metric::inner_product, Metric::cosine, Metric::l1, Metric::linf}) {
    EXPECT_EQ(parse_metric(name_of(metric)), metric);
    EXPECT_NE(metric_names().find(name_of(metric)), std::string::npos);
  }
  EXPECT_EQ(parse_metric("euclidean"), Metric::l2);
  EXPECT_EQ(parse_metric("ip"), Metric::inner_product);
  EXPECT_EQ(parse_metric("mips"), Metric::inner_product);
  EXPECT_EQ(parse_metric("angular"), Metric::cosine);
  EXPECT_EQ(parse_metric("cityblock"), Metric::l1);
  EXPECT_EQ(parse_metric("chebyshev"), Metric::linf);
  for (const char* wrong : {"", " ", "L2", "l2 ", "ip dot", "eucl", "do", "mips "}) EXPECT_EQ(parse_metric(wrong), std::nullopt) << '"' << wrong << '"';
}

TEST(Names, OfOptionsReadBack) {
  for (const Screen s : {Screen::automatic, Screen::fp32, Screen::fp32_direct, Screen::fp32_dot, Screen::double_precision, Screen::int8, Screen::bf16}) EXPECT_EQ(parse_screen(name_of(s)), s);
  for (const Schedule s : {Schedule::automatic, Schedule::by_query, Schedule::by_base}) EXPECT_EQ(parse_schedule(name_of(s)), s);
  for (const SelfMode m : {SelfMode::none, SelfMode::natural, SelfMode::exclude, SelfMode::first}) EXPECT_EQ(parse_self_mode(name_of(m)), m);
  EXPECT_EQ(parse_screen("fp64"), std::nullopt);
  EXPECT_EQ(parse_schedule(""), std::nullopt);
  EXPECT_EQ(parse_self_mode("last"), std::nullopt);
}

}  // namespace
}  // namespace tessera::testing
