// SPDX-License-Identifier: Apache-2.0
// The fused screen: which pairs it keeps, in which order, and when it stops. Small integers make every score exact.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>

#include "kernels/cpu/contract.hpp"
#include "metrics/traits.hpp"
#include "support/isas.hpp"

namespace tessera::testing {
namespace {

using kernels::CpuKernels;
using kernels::Hit;
using kernels::HitList;
using kernels::ScreenCall;
using metrics::Element;

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

struct Form {
  Element element;
  bool dot;
};
constexpr Form kForms[] = {{Element::squared_difference, false}, {Element::product, true}, {Element::absolute_difference, false}, {Element::maximum_difference, false}};

/// A query panel, some base panels, and room for every hit.
struct Setting {
  Setting(const CpuKernels& kernels, Index query_rows, Index base_panels, Index cols)
      : k(kernels), rows(query_rows), panels(base_panels), d(cols), query(static_cast<std::size_t>(rows * d)),
        base(static_cast<std::size_t>(panels * d * k.panel_cols)), bias(static_cast<std::size_t>(panels * k.panel_cols)),
        thresholds(static_cast<std::size_t>(rows), kInfinity), hits(static_cast<std::size_t>(rows * (panels + 1) * k.panel_cols)) {
    std::mt19937_64 random(9);
    for (float& v : query) v = static_cast<float>(random() % 7) - 3;
    for (float& v : base) v = static_cast<float>(random() % 7) - 3;
    for (float& v : bias) v = static_cast<float>(random() % 50);
    clear();
  }

  void clear() {
    lists.clear();
    const Index room = (panels + 1) * k.panel_cols;
    for (Index r = 0; r < rows; ++r) lists.push_back({hits.data() + r * room, 0});
  }
  ScreenCall call() {
    return {.query = query.data(), .base = base.data(), .bias = bias.data(), .thresholds = thresholds.data(), .lists = lists.data(), .depth = d,
            .first_panel = 0, .last_panel = panels, .capacity = static_cast<std::int32_t>((panels + 1) * k.panel_cols), .factor = 2};
  }
  float expected(const Form& form, Index r, Index position) const {
    const Index panel = position / k.panel_cols;
    const Index lane = position % k.panel_cols;
    float sum = 0;
    for (Index t = 0; t < d; ++t) {
      const float x = query[static_cast<std::size_t>(t * rows + r)];
      const float y = base[static_cast<std::size_t>((panel * d + t) * k.panel_cols + lane)];
      switch (form.element) {
        case Element::squared_difference: sum += (x - y) * (x - y); break;
        case Element::product: sum += x * y; break;
        case Element::absolute_difference: sum += std::fabs(x - y); break;
        case Element::maximum_difference: sum = std::max(sum, std::fabs(x - y)); break;
      }
    }
    return form.dot ? bias[static_cast<std::size_t>(position)] - 2 * sum : sum;
  }

  const CpuKernels& k;
  Index rows, panels, d;
  std::vector<float> query, base, bias, thresholds;
  std::vector<Hit> hits;
  std::vector<HitList> lists;
};

template <class Check>
void for_each_kernel(Check check) {
  for (const std::string& isa : isas()) {
    const CpuKernels& k = kernels_of(isa);
    for (const Form& form : kForms) {
      for (Index rows = 1; rows <= k.panel_rows; rows *= 2) {
        SCOPED_TRACE(fmt::format("{}, element {}, {} rows", isa, static_cast<int>(form.element), rows));
        ASSERT_NE(k.screen(form.element, form.dot, rows).screen, nullptr);
        check(k, form, rows);
      }
    }
  }
}

TEST(Screen, KeepsExactlyThePairsThatAreNotPastTheThreshold) {
  for_each_kernel([](const CpuKernels& k, const Form& form, Index rows) {
    Setting s(k, rows, 3, 5);
    for (Index r = 0; r < rows; ++r) s.thresholds[static_cast<std::size_t>(r)] = s.expected(form, r, 3 * r + 1);  // equal scores stay
    EXPECT_EQ(k.screen(form.element, form.dot, rows).screen(s.call()), 3);
    for (Index r = 0; r < rows; ++r) {
      std::int32_t n = 0;
      for (Index p = 0; p < 3 * k.panel_cols; ++p) {
        const float score = s.expected(form, r, p);
        if (score > s.thresholds[static_cast<std::size_t>(r)]) continue;
        ASSERT_LT(n, s.lists[static_cast<std::size_t>(r)].count);
        const Hit& hit = s.lists[static_cast<std::size_t>(r)].hits[n++];
        EXPECT_EQ(hit.position, p);
        EXPECT_EQ(hit.score, score);
      }
      EXPECT_EQ(s.lists[static_cast<std::size_t>(r)].count, n);
    }
  });
}

TEST(Screen, NeverDismissesNan) {
  for_each_kernel([](const CpuKernels& k, const Form& form, Index rows) {
    for (Index t = 0; t < 4; ++t) {
      Setting s(k, rows, 2, 4);
      const Index lane = k.panel_cols - 1;
      s.base[static_cast<std::size_t>((1 * s.d + t) * k.panel_cols + lane)] = kNan;
      std::fill(s.thresholds.begin(), s.thresholds.end(), -kInfinity);
      k.screen(form.element, form.dot, rows).screen(s.call());
      for (const HitList& list : s.lists) {
        // A maximum may lose a NaN to a later element; packed rows without a bound are NaN in every element.
        if (form.element == Element::maximum_difference && list.count == 0) continue;
        ASSERT_EQ(list.count, 1);
        EXPECT_EQ(list.hits[0].position, k.panel_cols + lane);
        EXPECT_TRUE(std::isnan(list.hits[0].score));
      }
    }
  });
}

TEST(Screen, NeverDismissesARowOfNanWhateverTheElement) {
  for_each_kernel([](const CpuKernels& k, const Form& form, Index rows) {
    for (const bool in_query : {false, true}) {
      Setting s(k, rows, 1, 6);
      for (Index t = 0; t < s.d; ++t) (in_query ? s.query[static_cast<std::size_t>(t * rows)] : s.base[static_cast<std::size_t>(t * k.panel_cols)]) = kNan;
      std::fill(s.thresholds.begin(), s.thresholds.end(), -kInfinity);
      k.screen(form.element, form.dot, rows).screen(s.call());
      EXPECT_EQ(s.lists[0].count, in_query ? k.panel_cols : 1);
    }
  });
}

TEST(Screen, StopsBeforeAListOverflowsAndGoesOnFromThere) {
  for_each_kernel([](const CpuKernels& k, const Form& form, Index rows) {
    Setting s(k, rows, 5, 3);
    ScreenCall call = s.call();
    call.capacity = static_cast<std::int32_t>(2 * k.panel_cols);  // everything is kept: two panels fill a list
    const auto screen = k.screen(form.element, form.dot, rows).screen;
    Index seen = 0;
    while (call.first_panel < call.last_panel) {
      const Index next = screen(call);
      EXPECT_EQ(next, std::min<Index>(call.first_panel + 2, 5));
      for (HitList& list : s.lists) {
        ASSERT_EQ(list.count, (next - call.first_panel) * k.panel_cols);
        for (Index i = 0; i < list.count; ++i) EXPECT_EQ(list.hits[i].position, call.first_panel * k.panel_cols + i);
        list.count = 0;
      }
      seen += next - call.first_panel;
      call.first_panel = next;
    }
    EXPECT_EQ(seen, 5);
  });
}

TEST(MutualScreen, KeepsExactlyThePairsThatAreNotPastTheirRowAndTheirColumn) {
  for_each_kernel([](const CpuKernels& k, const Form& form, Index rows) {
    const auto mutual = k.screen(form.element, form.dot, rows).mutual;
    ASSERT_EQ(mutual != nullptr, form.dot);
    if (!form.dot) return;
    Setting s(k, rows, 3, 5);
    std::vector<float> limits(static_cast<std::size_t>(3 * k.panel_cols));
    std::vector<float> offsets(static_cast<std::size_t>(rows));
    for (std::size_t r = 0; r < offsets.size(); ++r) offsets[r] = static_cast<float>(r) * 3 - 5;
    for (std::size_t p = 0; p < limits.size(); ++p) {
      // Few columns want anything, some of them exactly what a row has to offer; one wants all, one nothing.
      limits[p] = p == 4 ? kInfinity : p == 7 ? -kInfinity : p % 5 == 0 ? s.expected(form, 0, static_cast<Index>(p)) - offsets[0] : -1000;
    }
    for (Index r = 0; r < rows; ++r) s.thresholds[static_cast<std::size_t>(r)] = r % 2 == 0 ? s.expected(form, r, 3 * r + 1) : -kInfinity;
    s.base[static_cast<std::size_t>(2 * s.d * k.panel_cols + 1)] = kNan;  // the third panel's second row
    ScreenCall call = s.call();
    call.col_limits = limits.data();
    call.row_offsets = offsets.data();
    EXPECT_EQ(mutual(call), 3);
    for (Index r = 0; r < rows; ++r) {
      std::int32_t n = 0;
      for (Index p = 0; p < 3 * k.panel_cols; ++p) {
        const float score = s.expected(form, r, p);
        const bool past_row = score > s.thresholds[static_cast<std::size_t>(r)];
        const bool past_column = score > limits[static_cast<std::size_t>(p)] + offsets[static_cast<std::size_t>(r)];
        if (past_row && past_column) continue;
        ASSERT_LT(n, s.lists[static_cast<std::size_t>(r)].count);
        const Hit& hit = s.lists[static_cast<std::size_t>(r)].hits[n++];
        EXPECT_EQ(hit.position, p);
        EXPECT_TRUE(hit.score == score || (std::isnan(hit.score) && std::isnan(score)));
      }
      EXPECT_EQ(s.lists[static_cast<std::size_t>(r)].count, n);
    }
  });
}

TEST(Screen, HasNoKernelForWhatNoScreenSums) {
  for (const std::string& isa : isas()) {
    EXPECT_EQ(kernels_of(isa).screen(Element::product, false, 1).screen, nullptr);
    EXPECT_EQ(kernels_of(isa).screen(Element::squared_difference, false, 3).screen, nullptr);
  }
}

TEST(SeedKernel, LowersColumnMinimaAndPassesOverNan) {
  for_each_kernel([](const CpuKernels& k, const Form& form, Index rows) {
    Setting s(k, rows, 3, 4);
    for (Index t = 0; t < s.d; ++t) s.base[static_cast<std::size_t>((1 * s.d + t) * k.panel_cols)] = kNan;  // the second panel's first row
    std::vector<float> minima(static_cast<std::size_t>(rows * k.panel_cols), kInfinity);
    minima[1] = -1e6f;  // what is lower already stays
    k.screen(form.element, form.dot, rows).seed(s.call(), minima.data());
    for (Index r = 0; r < rows; ++r) {
      for (Index c = 0; c < k.panel_cols; ++c) {
        float want = r == 0 && c == 1 ? -1e6f : kInfinity;
        for (Index p = 0; p < 3; ++p) {
          if (p == 1 && c == 0) continue;
          want = std::min(want, s.expected(form, r, p * k.panel_cols + c));
        }
        ASSERT_EQ(minima[static_cast<std::size_t>(r * k.panel_cols + c)], want) << "row " << r << ", column " << c;
      }
    }
  });
}

}  // namespace
}  // namespace tessera::testing
