// SPDX-License-Identifier: Apache-2.0
#include "engine/cpu_backend.hpp"

#include <algorithm>

#include "engine/cpu_topk.hpp"
#include "engine/cpu_values.hpp"
#include "engine/near_topk.hpp"
#include "engine/plan.hpp"
#include "engine/symmetric_topk.hpp"
#include "engine/wasserstein_topk.hpp"
#include "prepare/fold.hpp"
#include "prepare/int8_pays.hpp"
#include "prepare/panels.hpp"
#include "prepare/special_rows.hpp"
#include "support/cpu.hpp"

namespace tessera::engine {
namespace {

class CpuPreparedBase final : public core::PreparedBaseBackend {
 public:
  CpuPreparedBase(const kernels::CpuKernels& kernels, const core::BaseProblem& problem, const core::BasePlan& plan, core::Executor& executor)
      : kernels_(kernels), problem_(problem), plan_(plan), traits_(metrics::traits_of(problem.metric.metric)),
        lattice_(traits_.nearest_image ? metrics::make_lattice(problem.metric.cell.value(), problem.base.cols) : nullptr) {
    const prepare::RowReader reader(kernels, problem.base, traits_.unit_rows);
    special_ = prepare::find_special_rows(reader, problem_.nan, "base", executor, prepare::largest_value(lattice_.get()));
    prepare::deny(special_, problem_.denied);
    if (plan.screen == Screen::double_precision) return;
    narrowing_ = std::make_unique<prepare::Narrowing>(
        prepare::choose_narrowing(reader, traits_, plan.screen, problem.bound_inflation, lattice_.get()));
    if (lattice_) fold_ = std::make_unique<prepare::Fold>(prepare::make_fold(*lattice_, *narrowing_));
  }

  std::unique_ptr<core::PreparedSegment> segment(core::Range rows, core::Executor& executor) override {
    const prepare::RowReader reader(kernels_, slice(problem_.base, rows.first, rows.last), traits_.unit_rows);
    return prepare::pack_panels(reader, prepare::special_within(special_, rows), narrowing_.get(), plan_.tile_cols, plan_.pruned, executor);
  }

  std::unique_ptr<core::PreparedSegment> pack_queries(const core::QueryProblem& queries, core::Executor& executor) const override {
    if (narrowing_ == nullptr || prepare::exact_columns(queries.queries.cols) == 0) return nullptr;
    const prepare::RowReader reader(kernels_, queries.queries, traits_.unit_rows);
    return prepare::pack_panels(reader, queries.special, narrowing_.get(), kernels_.panel_cols, true, executor);
  }

  std::unique_ptr<core::TopkWorker> worker(const core::PreparedSegment& segment, const core::QueryProblem& queries,
                                           const core::QueryPlan& plan) const override {
    const CpuTopkInputs inputs = inputs_of(segment, queries, plan);
    return has_near_topk(inputs) ? make_near_topk_worker(inputs) : make_cpu_topk_worker(inputs);
  }

  std::unique_ptr<core::SymmetricSearch> symmetric(const core::PreparedSegment& segment, const core::QueryProblem& queries,
                                                   const core::QueryPlan& plan) const override {
    return make_symmetric_topk(inputs_of(segment, queries, plan));
  }

 private:
  CpuTopkInputs inputs_of(const core::PreparedSegment& segment, const core::QueryProblem& queries, const core::QueryPlan& plan) const {
    return {.kernels = kernels_,
            .traits = traits_,
            .lattice = lattice_.get(),
            .narrowing = narrowing_.get(),
            .fold = fold_.get(),
            .panels = static_cast<const prepare::Panels&>(segment),
            .base = problem_.base,
            .denied = problem_.denied,
            .queries = queries,
            .pruned = plan_.pruned,
            .tile_rows = plan.tile_rows};
  }

  const kernels::CpuKernels& kernels_;
  core::BaseProblem problem_;
  core::BasePlan plan_;
  const metrics::MetricTraits& traits_;
  std::shared_ptr<const metrics::Lattice> lattice_;
  core::SpecialRows special_;  // of the whole base
  std::unique_ptr<prepare::Narrowing> narrowing_;  // null: double screen
  std::unique_ptr<prepare::Fold> fold_;            // periodic fp32 screens
};

class CpuBackend final : public core::Backend {
 public:
  CpuBackend(const kernels::CpuKernels& kernels, int threads) : kernels_(kernels), threads_(threads) {}
  std::string name() const override { return "cpu"; }
  std::string isa() const override { return kernels_.isa; }
  core::DeviceInfo device() const override {
    return {.threads = threads_, .l2_bytes = support::l2_cache_bytes(), .panel_rows = kernels_.panel_rows, .panel_cols = kernels_.panel_cols, .has_int8 = kernels_.int8_screen != nullptr, .has_bf16 = kernels_.bf16_screen != nullptr, .can_prune = true, .can_share = true};
  }
  Screen advise_screen(const core::BaseProblem& problem, const RowSet* queries, Index k) const override {
    const auto& traits = metrics::traits_of(problem.metric.metric);
    const Index d = problem.base.cols;
    const bool possible = kernels_.int8_screen != nullptr && traits.has_dot && d >= kInt8From && d <= kLargestInt8Cols;
    if (!possible || problem.base.rows < kInt8FromRows) return Screen::automatic;
    const prepare::RowReader base(kernels_, problem.base, traits.unit_rows);
    const prepare::RowReader asked(kernels_, queries != nullptr ? *queries : problem.base, traits.unit_rows);
    return prepare::int8_pays(base, queries != nullptr ? &asked : nullptr, k, traits) ? Screen::int8 : Screen::automatic;
  }
  std::unique_ptr<core::PreparedBaseBackend> prepare(const core::BaseProblem& problem, const core::BasePlan& plan,
                                                     core::Executor& executor) override {
    if (metrics::traits_of(problem.metric.metric).distributions) return make_wasserstein_base(kernels_, problem, plan);
    return std::make_unique<CpuPreparedBase>(kernels_, problem, plan, executor);
  }
  std::unique_ptr<core::PreparedValues> prepare_values(const core::ValuesProblem& problem) override {
    return make_cpu_values(kernels_, problem);
  }

 private:
  const kernels::CpuKernels& kernels_;
  int threads_;
};

}  // namespace

std::unique_ptr<core::Backend> make_cpu_backend(const kernels::CpuKernels& kernels, int threads) {
  return std::make_unique<CpuBackend>(kernels, threads);
}

}  // namespace tessera::engine
