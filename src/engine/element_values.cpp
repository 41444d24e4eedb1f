// SPDX-License-Identifier: Apache-2.0
#include "engine/element_values.hpp"

#include <algorithm>

#include "engine/cpu_values.hpp"
#include "engine/image_values.hpp"
#include "prepare/special_rows.hpp"
#include "support/cpu.hpp"

namespace tessera::engine {
namespace {

using core::Range;

constexpr Index kMostBlockCols = 4096;
constexpr double kFlopsPerNanosecond = 50;       // one core, AVX-512 or AVX2, measured within a factor of two
constexpr double kCanonicalFlopsPerNanosecond = 4;
// A pair on one thread, AVX-512, measured on a busy machine: orthorhombic and triclinic cells 6 and 9, canonically 250 and 200.
constexpr double kImageNanoseconds = 7;
constexpr double kCanonicalImageNanoseconds = 200;

class ElementValues final : public core::PreparedValues {
 public:
  ElementValues(const kernels::CpuKernels& kernels, const core::ValuesProblem& problem)
      : kernels_(kernels), problem_(problem), traits_(metrics::traits_of(problem.metric.metric)),
        lattice_(traits_.nearest_image ? metrics::make_lattice(problem.metric.cell.value(), problem.x.cols) : nullptr) {
    const Index bytes_a_col = problem_.x.cols * static_cast<Index>(packs() ? sizeof(float) : sizeof(double));
    const Index wish = support::l2_cache_bytes() / 2 / std::max<Index>(bytes_a_col, 1);
    block_cols_ = std::clamp(wish, Index{1}, kMostBlockCols) / kernels.panel_cols * kernels.panel_cols;
    block_cols_ = std::max(block_cols_, kernels.panel_cols);
  }

  void inspect(core::Executor& executor) override {
    zero_rows_ = zero_in(problem_.x, problem_.rows(), "base", executor);
    zero_cols_ = problem_.self ? zero_rows_ : zero_in(problem_.y, problem_.cols(), "cols", executor);
    if (!packs()) return;
    narrowings_.resize(static_cast<std::size_t>(problem_.batches));
    executor.run(problem_.batches, [&](Index batch, int) {
      const Index cols = problem_.cols();
      const Index first = batch * cols;
      const prepare::RowReader reader(kernels_, slice(problem_.y, first, first + problem_.length(batch, cols)), traits_.unit_rows);
      narrowings_[static_cast<std::size_t>(batch)] = prepare::choose_value_narrowing(reader, traits_);
    });
  }

  void adopt(const core::ValuesPlan& plan) override { by_workers_ = plan.columns_by_workers; }

  std::unique_ptr<core::ValuesSegment> segment(Range batches, Range cols, core::Executor& executor) override {
    auto out = std::make_unique<ElementSegment>();
    out->batches = batches;
    out->cols = cols;
    out->by_workers = by_workers_;
    if (!packs() || by_workers_) return out;
    for (Index b = batches.first; b < batches.last; ++b) {
      const Range counted{cols.first, std::max(cols.first, std::min(cols.last, problem_.length(b, problem_.cols())))};
      out->packed.push_back({counted, prepare::PackedValueRows(counted.size(), problem_.y.cols, kernels_.panel_cols)});
    }
    struct Part {
      Index batch, panel;
    };
    std::vector<Part> parts;  // a few panels a task
    for (Index b = batches.first; b < batches.last; ++b) {
      const auto& packed = out->packed[static_cast<std::size_t>(b - batches.first)];
      for (Index p = 0; p < packed.rows.panels(); p += kPanelsPerTask) parts.push_back({b, p});
    }
    const prepare::RowReader reader(kernels_, problem_.y, traits_.unit_rows);
    executor.run(std::ssize(parts), [&](Index task, int) {
      const Part part = parts[static_cast<std::size_t>(task)];
      auto& packed = out->packed[static_cast<std::size_t>(part.batch - batches.first)];
      prepare::ValuePacker packer(reader, narrowings_[static_cast<std::size_t>(part.batch)], kernels_.panel_cols);
      const Index last = std::min(packed.rows.panels(), part.panel + kPanelsPerTask);
      for (Index p = part.panel; p < last; ++p) {
        const Index first = packed.cols.first + p * kernels_.panel_cols;
        packer.pack(part.batch * problem_.cols() + first, std::min(kernels_.panel_cols, packed.cols.last - first), packed.rows, p);
      }
    });
    return out;
  }

  std::unique_ptr<core::ValuesWorker> worker(const core::ValuesSegment& segment, Index tile_rows) const override {
    return make_element_worker({.kernels = kernels_,
                                .traits = traits_,
                                .lattice = lattice_.get(),
                                .problem = problem_,
                                .narrowings = narrowings_,
                                .zero_rows = zero_rows_,
                                .zero_cols = zero_cols_,
                                .segment = static_cast<const ElementSegment&>(segment),
                                .block_cols = block_cols_},
                               tile_rows);
  }

  core::ValuesCosts costs() const override {
    const Index d = problem_.x.cols;
    const bool canonical = problem_.canonical();
    const std::uint64_t halves = problem_.dtype != DType::f16 ? 0 : static_cast<std::uint64_t>(block_cols_) * (canonical ? sizeof(double) : sizeof(float));
    if (lattice_) {
      return {.form = canonical ? "canonical" : "nearest-image",
              .bytes_per_worker = element_block_bytes(d, block_cols_) + ImageValues::bytes(block_cols_),
              .bytes_per_row = element_row_bytes(d, true) + halves,
              .pair_nanoseconds = canonical ? kCanonicalImageNanoseconds : kImageNanoseconds};
    }
    const auto form = prepare::value_form(traits_, d);
    const bool dot = form == kernels::ValueForm::dot_squared || form == kernels::ValueForm::dot_product;
    const double flops = (dot ? 2.0 : 3.0) * static_cast<double>(d) + 16;
    return {.form = canonical ? "canonical" : dot ? "fp32-dot" : "fp32-direct",
            .bytes_per_col = canonical ? 0 : prepare::packed_value_bytes(kernels_.panel_cols, d, kernels_.panel_cols) / static_cast<std::uint64_t>(kernels_.panel_cols),
            .bytes_per_worker = element_block_bytes(d, block_cols_),
            .bytes_per_row = element_row_bytes(d, canonical) + halves,
            .columns_by_workers = !canonical,
            .pair_nanoseconds = flops / (canonical ? kCanonicalFlopsPerNanosecond : kFlopsPerNanosecond)};
  }

  Index zero_rows() const noexcept override { return std::ssize(zero_rows_) + (problem_.self ? 0 : std::ssize(zero_cols_)); }

 private:
  static constexpr Index kPanelsPerTask = 16;

  /// Whether rows are packed in fp32.
  bool packs() const noexcept { return !problem_.canonical() && lattice_ == nullptr; }

  /// Checks the rows that count; returns all-zero ones where rows are normalised.
  std::vector<Index> zero_in(const RowSet& rows, Index per_batch, const char* what, core::Executor& executor) const {
    const bool padded = problem_.batches > 1 && problem_.lengths.empty();
    const prepare::BadRows bad(NanPolicy::error, padded ? "clean the data, or give lengths where they are padding (--lengths)" : "clean the data",
                               problem_.batches > 1 ? per_batch : 0);
    const auto zero_of = [&](const RowSet& part) {
      return prepare::find_special_rows(prepare::RowReader(kernels_, part, traits_.unit_rows), bad, what, executor, prepare::largest_value(lattice_.get())).zero;
    };
    if (problem_.lengths.empty()) return zero_of(rows);
    std::vector<Index> zero;
    for (Index b = 0; b < problem_.batches; ++b) {
      for (const Index row : zero_of(slice(rows, b * per_batch, b * per_batch + problem_.length(b, per_batch)))) zero.push_back(b * per_batch + row);
    }
    return zero;
  }

  const kernels::CpuKernels& kernels_;
  core::ValuesProblem problem_;
  const metrics::MetricTraits& traits_;
  std::shared_ptr<const metrics::Lattice> lattice_;
  Index block_cols_ = 0;
  bool by_workers_ = false;
  std::vector<Index> zero_rows_;
  std::vector<Index> zero_cols_;
  std::vector<prepare::ValueNarrowing> narrowings_;
};

}  // namespace

std::unique_ptr<core::PreparedValues> make_element_values(const kernels::CpuKernels& kernels, const core::ValuesProblem& problem) {
  return std::make_unique<ElementValues>(kernels, problem);
}

std::unique_ptr<core::PreparedValues> make_cpu_values(const kernels::CpuKernels& kernels, const core::ValuesProblem& problem) {
  return metrics::traits_of(problem.metric.metric).distributions ? make_wasserstein_values(kernels, problem) : make_element_values(kernels, problem);
}

}  // namespace tessera::engine
