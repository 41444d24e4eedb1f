// SPDX-License-Identifier: Apache-2.0
#include "engine/quantile_pairs.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "engine/segments.hpp"
#include "support/fail.hpp"

namespace tessera::engine {
namespace {

#include "metrics/power.inc"

using core::Distribution;
using core::ValueType;
using kernels::QuantileCall;
using kernels::QuantileCut;
using kernels::QuantileNorm;
using kernels::QuantileTerm;

using Wide = unsigned __int128;

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kLargestWhole = 0x1p53;  // integers up to here are exact in double
// Sums of powers outside are computed again, scaled: squares may have underflowed, or overflowed.
constexpr double kSmallestSum = 0x1p-900;
constexpr double kLargestSum = 0x1p1000;

/// True when the samples have no weights, be they stored one by one or as runs.
bool unweighted(const Distribution& d) noexcept { return d.cumulative == nullptr || d.runs; }
Index samples(const Distribution& d) noexcept { return d.runs ? static_cast<Index>(d.total) : d.size; }

double value(const Distribution& d, Index i) noexcept {
  return d.type == ValueType::f32 ? static_cast<double>(static_cast<const float*>(d.values)[i]) : static_cast<const double*>(d.values)[i];
}

/// Runs, one value a sample.
const double* counted_out(const Distribution& d, std::vector<double>& scratch) {
  scratch.resize(static_cast<std::size_t>(samples(d) + core::kPadding));
  auto out = scratch.begin();
  for (Index i = 0; i < d.size; ++i) {
    const auto end = scratch.begin() + static_cast<Index>(d.cumulative[i]);
    std::fill(out, end, value(d, i));
    out = end;
  }
  std::fill(out, scratch.end(), d.highest);
  return scratch.data();
}

/// A stored integer, whatever its type; only for sets of integers.
__int128 integer(const Distribution& d, Index i) noexcept {
  if (d.type != ValueType::wide) return static_cast<__int128>(value(d, i));
  return static_cast<__int128>(static_cast<const std::int64_t*>(d.values)[i]) + (d.biased ? static_cast<__int128>(1) << 63 : 0);
}

/// Where atom i ends, in units of weight.
double end_of(const Distribution& d, Index i) noexcept { return d.cumulative != nullptr ? d.cumulative[i] : static_cast<double>(i + 1); }

const Wide* wide_ends(const Distribution& d, Wide unit, std::vector<Wide>& scratch) {
  scratch.resize(static_cast<std::size_t>(d.size));
  for (Index i = 0; i < d.size; ++i) scratch[static_cast<std::size_t>(i)] = static_cast<Wide>(end_of(d, i)) * unit;
  return scratch.data();
}

/// Ends in units of weight, or, where `total` is not 1, of the whole.
const double* made_ends(const Distribution& d, double total, std::vector<double>& scratch) {
  scratch.resize(static_cast<std::size_t>(d.size + core::kPadding));
  for (Index i = 0; i < d.size; ++i) scratch[static_cast<std::size_t>(i)] = end_of(d, i) / total;
  std::fill(scratch.begin() + d.size, scratch.end(), kInfinity);
  return scratch.data();
}

QuantileTerm term_of(double p) noexcept { return p == 1 ? QuantileTerm::absolute : p == 2 ? QuantileTerm::square : QuantileTerm::power; }

}  // namespace

/// Two distributions on a common quantile axis.
struct QuantilePairs::Plan {
  const Distribution* a;
  const Distribution* b;
  QuantileCut cut = QuantileCut::merged;
  QuantileCall call{};
  Index steps = 0;
  double total = 1;       // width of the whole axis
  double narrowest = 0;   // segments up to here may be nothing but rounding of the weights
  bool whole = true;      // integer weights
  bool exact = false;     // all sums are integers below 2^53
  bool same = false;      // equal totals
  bool wide_x = true;     // doubles, not floats
  bool wide_y = true;
  bool odd = false;       // 128-bit integers as values or ends: no kernel takes them
  bool scratch = false;   // uses the scratch of the one pair at work
};

struct QuantilePairs::Open {
  Plan plan;
  QuantilePair* pair;
  kernels::QuantileKernel kernel;
  QuantileNorm norm;
  double lanes[16];
};

QuantilePairs::QuantilePairs(const kernels::CpuKernels& kernels, const MetricSpec& metric) : kernels_(kernels.quantiles), p_(metric.p) {}
QuantilePairs::~QuantilePairs() = default;

QuantilePairs::Plan QuantilePairs::understand(const Distribution& a, const Distribution& b) {
  Plan plan{.a = &a, .b = &b, .whole = a.whole_weights && b.whole_weights, .same = a.total == b.total};
  if (plan.whole) plan.total = plan.same ? a.total : a.total * b.total;
  const bool fits = plan.total <= kLargestWhole;
  plan.exact = is_exact(a, b, plan.total);
  // Runs serve sums that are exact in any order; other sums take sample by sample.
  const bool by_samples = fits && unweighted(a) && unweighted(b) && !((a.runs || b.runs) && (plan.exact || std::isinf(p_)));
  if (by_samples) {
    plan.cut = plan.same ? QuantileCut::equal : QuantileCut::scheduled;
    if (a.total > b.total) std::swap(plan.a, plan.b);
  }
  plan.odd = a.type == ValueType::wide || b.type == ValueType::wide || (plan.whole && !fits);
  if (plan.odd && !(a.whole_values && b.whole_values) && (a.type == ValueType::wide || b.type == ValueType::wide)) {
    support::fail(ErrorCode::malformed_input, "integers beyond 2^53 cannot be compared with fractions: rescale the values, or subtract a common offset");
  }
  if (!plan.whole) plan.narrowest = static_cast<double>(a.size + b.size) * 0x1p-52;
  take_values(plan, by_samples);
  if (plan.cut == QuantileCut::merged && !plan.odd) take_ends(plan);
  plan.steps = plan.cut == QuantileCut::merged ? plan.call.n + plan.call.m - 1 : plan.call.m;
  return plan;
}

void QuantilePairs::take_values(Plan& plan, bool by_samples) {
  auto take = [&](const Distribution& d, std::vector<double>& scratch, const void*& values, bool& wide, Index& count) {
    count = by_samples ? samples(d) : d.size;
    wide = d.type == ValueType::f64;
    values = d.values;
    if (!d.runs || !by_samples) return;
    values = counted_out(d, scratch);
    wide = plan.scratch = true;
  };
  take(*plan.a, values_x_, plan.call.x, plan.wide_x, plan.call.n);
  take(*plan.b, values_y_, plan.call.y, plan.wide_y, plan.call.m);
}

void QuantilePairs::take_ends(Plan& plan) {
  auto take = [&](const Distribution& d, std::vector<double>& scratch) {
    const bool stored = d.cumulative != nullptr && d.whole_weights == plan.whole;
    if (stored) return d.cumulative;
    plan.scratch = true;
    return made_ends(d, plan.whole ? 1 : d.total, scratch);
  };
  plan.call.ends_x = take(*plan.a, ends_x_);
  plan.call.ends_y = take(*plan.b, ends_y_);
  if (!plan.whole || plan.same) return;
  plan.call.unit_x = plan.b->total;
  plan.call.unit_y = plan.a->total;
}

double QuantilePairs::reduce(const Plan& plan, const QuantileNorm& norm) {
  if (plan.odd) return reduce_oddly(plan, norm);
  alignas(64) double lanes[16] = {};
  kernels_.pair(plan.cut, norm.term, plan.wide_x, plan.wide_y)(plan.call, 0, plan.steps, norm, lanes);
  return norm.term == QuantileTerm::maximum ? kernels_.largest(lanes) : kernels_.sum(lanes);
}

/// Integers that no double holds, as values or as ends.
double QuantilePairs::reduce_oddly(const Plan& plan, const QuantileNorm& norm) {
  SegmentBlock out(kernels_.segments(norm.term), norm);
  auto cut = [&](auto difference) {
    if (plan.cut == QuantileCut::equal) return equal_segments(plan.call.n, difference, out);
    if (plan.cut == QuantileCut::scheduled) return scheduled_segments(plan.call.n, plan.call.m, difference, out);
    if (!plan.whole) {
      return merged_segments(made_ends(*plan.a, plan.a->total, ends_x_), plan.a->size, made_ends(*plan.b, plan.b->total, ends_y_), plan.b->size, 1.0,
                             difference, out);
    }
    const auto unit_a = static_cast<Wide>(plan.same ? 1.0 : plan.b->total);
    const auto unit_b = static_cast<Wide>(plan.same ? 1.0 : plan.a->total);
    merged_segments(wide_ends(*plan.a, unit_a, wide_ends_x_), plan.a->size, wide_ends(*plan.b, unit_b, wide_ends_y_), plan.b->size,
                    static_cast<Wide>(plan.a->total) * unit_a, difference, out);
  };
  if (plan.a->type == ValueType::wide || plan.b->type == ValueType::wide) {
    cut([&](Index i, Index j) { return static_cast<double>(integer(*plan.a, i) - integer(*plan.b, j)); });
  } else {
    cut([&](Index i, Index j) { return value(*plan.a, i) - value(*plan.b, j); });
  }
  return norm.term == QuantileTerm::maximum ? kernels_.largest(out.finish()) : kernels_.sum(out.finish());
}

bool QuantilePairs::is_exact(const Distribution& a, const Distribution& b, double total) const noexcept {
  if (!a.whole_values || !b.whole_values || !a.whole_weights || !b.whole_weights || std::trunc(p_) != p_ || std::isinf(p_)) return false;
  if (a.type == ValueType::wide || b.type == ValueType::wide) return false;  // differences may be rounded
  const double farthest = std::max(a.highest - b.lowest, b.highest - a.lowest);
  if (farthest <= 1) return total <= kLargestWhole;
  double largest = total;
  for (double i = 0; i < p_ && largest <= kLargestWhole; ++i) largest *= farthest;
  return largest <= kLargestWhole;
}

/// What the first pass over a pair computes: the sum, or the largest difference.
QuantileNorm QuantilePairs::first_norm(const Plan& plan) const noexcept {
  if (std::isinf(p_)) return {.term = QuantileTerm::maximum, .narrowest = plan.narrowest};
  if (p_ > 2 && !plan.exact) return {.term = QuantileTerm::maximum};
  return {.term = term_of(p_), .p = p_};
}

/// W_p from differences divided by the largest one, or by a power of two near it, so that no power leaves the range of double.
double QuantilePairs::rescaled(const Plan& plan, double largest) {
  if (largest == 0) return 0;
  const double divisor = p_ > 2 ? largest : std::scalbn(1.0, std::ilogb(largest));
  return divisor * root(reduce(plan, {.term = QuantileTerm::power, .p = p_, .divisor = divisor}) / plan.total, p_);
}

/// W_p from what the first pass gave, unless that was the largest difference of p > 2.
double QuantilePairs::finished(const Plan& plan, double sum) {
  if (std::isinf(p_)) return sum;
  if (p_ > 1 && !plan.exact && !(sum >= kSmallestSum && sum <= kLargestSum)) return rescaled(plan, reduce(plan, {.term = QuantileTerm::maximum}));
  return root(sum / plan.total, p_);
}

double QuantilePairs::distance(const Distribution& a, const Distribution& b) {
  const Plan plan = understand(a, b);
  const double first = reduce(plan, first_norm(plan));
  const bool divided = p_ > 2 && !plan.exact && !std::isinf(p_);
  return divided ? rescaled(plan, first) : finished(plan, first);
}

void QuantilePairs::distances(std::span<QuantilePair> pairs, std::uint64_t bytes, std::uint64_t cache) {
  const auto slices = static_cast<Index>(std::max<std::uint64_t>(1, (bytes + cache - 1) / cache));
  if (slices == 1) {
    for (QuantilePair& pair : pairs) pair.distance = distance(*pair.a, *pair.b);
    return;
  }
  open_.clear();
  for (QuantilePair& pair : pairs) {
    Plan plan = understand(*pair.a, *pair.b);
    if (plan.odd || plan.scratch) {
      pair.distance = distance(*pair.a, *pair.b);
    } else {
      open_.push_back({.plan = plan, .pair = &pair, .kernel = nullptr, .norm = first_norm(plan), .lanes = {}});
    }
  }
  std::vector<Open*> all;
  for (Open& open : open_) all.push_back(&open);
  walk(all, slices);
  std::vector<Open*> again;  // p > 2: now that the largest difference is known
  for (Open& open : open_) {
    const bool maximum = open.norm.term == QuantileTerm::maximum;
    const double first = maximum ? kernels_.largest(open.lanes) : kernels_.sum(open.lanes);
    if (!maximum || std::isinf(p_)) {
      open.pair->distance = finished(open.plan, first);
    } else if (first == 0) {
      open.pair->distance = 0;
    } else {
      open.norm = {.term = QuantileTerm::power, .p = p_, .divisor = first};
      again.push_back(&open);
    }
  }
  walk(again, slices);
  for (const Open* open : again) {
    open->pair->distance = open->norm.divisor * root(kernels_.sum(open->lanes) / open->plan.total, p_);
  }
}

/// Takes all pairs through one slice of the quantile axis after the other.
void QuantilePairs::walk(const std::vector<Open*>& open, Index slices) {
  for (Open* pair : open) {
    pair->kernel = kernels_.pair(pair->plan.cut, pair->norm.term, pair->plan.wide_x, pair->plan.wide_y);
    std::fill(std::begin(pair->lanes), std::end(pair->lanes), 0.0);
  }
  // Steps of a pair up to slice s, a multiple of 16 but for the last.
  auto until = [&](const Plan& plan, Index s) { return s == slices ? plan.steps : plan.steps / slices * s / 16 * 16; };
  for (Index s = 0; s < slices; ++s) {
    for (Open* pair : open) {
      pair->kernel(pair->plan.call, until(pair->plan, s), until(pair->plan, s + 1), pair->norm, pair->lanes);
    }
  }
}

}  // namespace tessera::engine
