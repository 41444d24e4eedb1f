// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "metrics/key_form.hpp"
#include "metrics/traits.hpp"

namespace tessera::testing {
namespace {

using metrics::traits_of;

constexpr Metric kMetrics[] = {
#define TESSERA_METRIC(id, aliases) Metric::id,
#include "tessera/metrics.def"
#undef TESSERA_METRIC
};

TEST(MetricRegistry, FindsEveryMetricUnderItsOwnName) {
  for (const Metric metric : kMetrics) EXPECT_EQ(traits_of(metric).metric, metric) << name_of(metric);
}

TEST(MetricTraits, GrowWithTheSum) {
  for (const Metric metric : kMetrics) {
    const auto& traits = traits_of(metric);
    const double sums[] = {-3, -1, -0.5, 0, 0.25, 1, 1.5, 3, 3.9};
    for (std::size_t i = 1; i < std::size(sums); ++i) {
      const bool product = traits.canonical == metrics::Element::product;
      if (!product && sums[i - 1] < 0) continue;
      const double near = traits.key(product ? sums[i] : sums[i - 1]);
      const double far = traits.key(product ? sums[i - 1] : sums[i]);
      EXPECT_LT(near, far) << name_of(metric);
      EXPECT_LE(traits.z_of_key(near), traits.z_of_key(far)) << name_of(metric);
    }
  }
}

TEST(MetricTraits, NeverPutZAboveWhatSharesItsKey) {
  for (const Metric metric : kMetrics) {
    const auto& traits = traits_of(metric);
    for (const double sum : {0.0, 1e-300, 0.3, 1.0, 3.999999, 4.0, std::nextafter(4.0, 5.0), 4.0000001}) {
      const double z = traits.canonical == metrics::Element::product ? -sum : sum;
      EXPECT_GE(traits.z_of_key(traits.key(sum)), z) << name_of(metric) << " at " << sum;
    }
  }
}

TEST(MetricTraits, SayAsFunctionsWhatKeyFormsSay) {
  for (const Metric metric : kMetrics) {
    const auto& traits = traits_of(metric);
    if (traits.distributions) continue;
    const auto form = metrics::key_form(traits);
    for (const double sum : {0.0, 1e-300, 0.3, 1.0, 3.999999, 4.0, std::nextafter(4.0, 5.0), 4.0000001, 1e200}) {
      EXPECT_EQ(metrics::key_of_sum(form, sum), traits.key(sum)) << name_of(metric) << " at " << sum;
      EXPECT_EQ(metrics::z_of_key(form, traits.key(sum)), traits.z_of_key(traits.key(sum))) << name_of(metric) << " at " << sum;
    }
    EXPECT_FALSE(std::signbit(metrics::key_of_sum(form, 0.0))) << name_of(metric);
  }
}

TEST(MetricTraits, ReportInTheUnitsOfTheMetric) {
  EXPECT_EQ(traits_of(Metric::l2).report(9.0), 3.0);
  EXPECT_EQ(traits_of(Metric::sqeuclidean).report(9.0), 9.0);
  EXPECT_EQ(traits_of(Metric::inner_product).report(traits_of(Metric::inner_product).key(7.0)), 7.0);
  EXPECT_FALSE(std::signbit(traits_of(Metric::inner_product).key(0.0)));
  EXPECT_FALSE(std::signbit(traits_of(Metric::inner_product).report(0.0)));
  EXPECT_EQ(traits_of(Metric::cosine).report(traits_of(Metric::cosine).key(3.0)), 1.5);
  EXPECT_EQ(traits_of(Metric::cosine).key(4.0000001), 2.0) << "antiparallel rows may sum to a little over 4";
}

TEST(MetricTraits, PadPastEveryRealValue) {
  for (const Metric metric : kMetrics) {
    const double pad = metric == Metric::inner_product ? -std::numeric_limits<double>::infinity() : std::numeric_limits<double>::infinity();
    EXPECT_EQ(traits_of(metric).pad, pad) << name_of(metric);
  }
}

TEST(MetricTraits, HaveAScreenEach) {
  for (const Metric metric : kMetrics) EXPECT_TRUE(traits_of(metric).has_direct || traits_of(metric).has_dot || traits_of(metric).nearest_image) << name_of(metric);
}

}  // namespace
}  // namespace tessera::testing
