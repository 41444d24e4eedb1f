// SPDX-License-Identifier: Apache-2.0
// Full matrices between distributions: every value is canonical, rounded once.
#include <algorithm>

#include "engine/cpu_values.hpp"
#include "engine/quantile_pairs.hpp"
#include "engine/value_rounding.hpp"
#include "prepare/distributions.hpp"
#include "support/cpu.hpp"
#include "support/fail.hpp"
#include "support/float16.hpp"

namespace tessera::engine {
namespace {

using core::Range;

// A pair takes about this long, by a sample of both (measured, docs/performance.md); for the plan's guesses.
constexpr double kNanosecondsPerSample = 0.4;

/// All distributions are sorted when the data are inspected; segments only say which columns they are.
struct DistributionSegment final : core::ValuesSegment {};

class WassersteinWorker final : public core::ValuesWorker {
 public:
  WassersteinWorker(const kernels::CpuKernels& kernels, const core::ValuesProblem& problem, const core::Distributions& x, const core::Distributions& y)
      : problem_(problem), x_(x), y_(y), pairs_(kernels, problem.metric) {}

  void evaluate(const core::Tile& tile, std::byte* out) override {
    for (Range rows{tile.rows.first, tile.rows.first}; rows.first < tile.rows.last; rows.first = rows.last) {
      rows.last = std::min(tile.rows.last, rows.first + kBlock);
      for (Range cols{tile.cols.first, tile.cols.first}; cols.first < tile.cols.last; cols.first = cols.last) {
        cols.last = std::min(tile.cols.last, cols.first + kBlock);
        block(rows, cols);
        for (const Entry& e : entries_) {
          store(e.row, e.col, wanted_[e.pair].distance, out, (e.row - tile.rows.first) * tile.cols.size() + (e.col - tile.cols.first));
        }
      }
    }
  }

  core::ValuesCounts counts() const noexcept override { return {.directly = 0, .canonically = canonically_}; }

 private:
  static constexpr Index kBlock = 16;  // distributions of either side that go along the quantile axis together

  struct Entry {
    Index row;
    Index col;
    std::size_t pair;
  };

  /// The distances of a block; in a self matrix a pair that the block holds twice is computed once.
  void block(Range rows, Range cols) {
    wanted_.clear();
    entries_.clear();
    std::uint64_t bytes = 0;
    auto samples = [](const core::Distribution& d) { return static_cast<std::uint64_t>(d.size) * sizeof(double); };
    const bool diagonal = problem_.self && rows.first == cols.first && rows.last == cols.last;
    for (Index i = rows.first; i < rows.last; ++i) {
      bytes += samples(x_.rows[static_cast<std::size_t>(i)]);
      for (Index j = diagonal ? i : cols.first; j < cols.last; ++j) {
        entries_.push_back({i, j, wanted_.size()});
        if (diagonal && j > i) entries_.push_back({j, i, wanted_.size()});
        wanted_.push_back({.a = &x_.rows[static_cast<std::size_t>(i)], .b = &y_.rows[static_cast<std::size_t>(j)]});
      }
    }
    for (Index j = cols.first; j < cols.last; ++j) bytes += samples(y_.rows[static_cast<std::size_t>(j)]);
    pairs_.distances(wanted_, bytes, cache_);
    canonically_ += std::ssize(wanted_);
  }

  void store(Index row, Index col, double value, std::byte* out, Index at) const {
    switch (problem_.dtype) {
      case DType::f64: reinterpret_cast<double*>(out)[at] = value; return;
      case DType::f16: {
        const std::uint16_t half = support::half_of(value);
        if ((half & 0x7fffu) == 0x7c00u) fail_past_half(0, row, col, value);
        reinterpret_cast<std::uint16_t*>(out)[at] = half;
        return;
      }
      default: reinterpret_cast<float*>(out)[at] = static_cast<float>(value);
    }
  }

  const core::ValuesProblem& problem_;
  const core::Distributions& x_;
  const core::Distributions& y_;
  QuantilePairs pairs_;
  std::uint64_t cache_ = static_cast<std::uint64_t>(support::l2_cache_bytes()) / 2;
  std::vector<QuantilePair> wanted_;
  std::vector<Entry> entries_;
  std::int64_t canonically_ = 0;
};

class WassersteinValues final : public core::PreparedValues {
 public:
  WassersteinValues(const kernels::CpuKernels& kernels, const core::ValuesProblem& problem) : kernels_(kernels), problem_(problem) {
    if (problem.batches != 1 || !problem.lengths.empty()) {
      support::fail(ErrorCode::unsupported, "batched matrices of distributions are not supported: dump one batch at a time");
    }
  }

  void inspect(core::Executor& executor) override {
    const prepare::BadRows bad(NanPolicy::error, "clean the data", 0);
    x_ = prepare::sort_distributions(kernels_, problem_.x, {0, problem_.x.rows}, bad, "base", executor);
    if (!problem_.self) y_ = prepare::sort_distributions(kernels_, problem_.y, {0, problem_.y.rows}, bad, "cols", executor);
  }

  std::unique_ptr<core::ValuesSegment> segment(Range, Range, core::Executor&) override { return std::make_unique<DistributionSegment>(); }

  std::unique_ptr<core::ValuesWorker> worker(const core::ValuesSegment&, Index) const override {
    return std::make_unique<WassersteinWorker>(kernels_, problem_, *x_, problem_.self ? *x_ : *y_);
  }

  core::ValuesCosts costs() const override {
    const std::uint64_t both = bytes_of(problem_.x) + (problem_.self ? 0 : bytes_of(problem_.y));
    const auto cols = static_cast<std::uint64_t>(std::max<Index>(1, problem_.y.rows));
    const auto longest = static_cast<std::uint64_t>(std::max(problem_.x.cols, problem_.y.cols));
    return {.form = "canonical",
            .bytes_per_col = (both + cols - 1) / cols,
            .bytes_per_worker = longest * 4 * sizeof(double),
            .bytes_per_row = 0,
            .pair_nanoseconds = kNanosecondsPerSample * static_cast<double>(both) / static_cast<double>(cols) / sizeof(double)};
  }

 private:
  static std::uint64_t bytes_of(const RowSet& rows) noexcept { return prepare::distribution_bytes(rows, {0, rows.rows}); }

  const kernels::CpuKernels& kernels_;
  core::ValuesProblem problem_;
  std::unique_ptr<core::Distributions> x_;
  std::unique_ptr<core::Distributions> y_;  // null: x_ again
};

}  // namespace

std::unique_ptr<core::PreparedValues> make_wasserstein_values(const kernels::CpuKernels& kernels, const core::ValuesProblem& problem) {
  return std::make_unique<WassersteinValues>(kernels, problem);
}

}  // namespace tessera::engine
