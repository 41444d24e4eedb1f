// SPDX-License-Identifier: Apache-2.0
#include "engine/session.hpp"

#include <algorithm>

#include "engine/control.hpp"
#include "engine/neighbours_sink.hpp"
#include "engine/plan.hpp"
#include "engine/registry.hpp"
#include "engine/run.hpp"
#include "engine/workers.hpp"
#include "prepare/special_rows.hpp"
#include "support/cpu.hpp"
#include "support/fail.hpp"

namespace tessera::engine {
namespace {

using core::BasePlan;
using core::Candidate;
using core::Range;

/// An executor whose tasks count as progress and stop when a stop is requested.
class ControlledExecutor final : public core::Executor {
 public:
  ControlledExecutor(core::Executor& executor, Control& control, double weight) : executor_(executor), control_(control), weight_(weight) {}
  int threads() const noexcept override { return executor_.threads(); }
  void run(Index tasks, const std::function<void(Index, int)>& body) override {
    executor_.run(tasks, [&](Index task, int worker) {
      body(task, worker);
      control_.advance(weight_ / static_cast<double>(tasks));
    });
  }

 private:
  core::Executor& executor_;
  Control& control_;
  double weight_;
};

Wishes wishes_of(const KnnOptions& options) {
  const std::uint64_t memory = options.memory > 0 ? options.memory : support::available_memory() / 2;
  return {.screen = options.screen, .schedule = options.schedule, .tile = options.tile, .memory = memory};
}

core::BaseProblem problem_of(const RowSet& base, const KnnOptions& options, double bound_inflation) {
  return {.base = base, .metric = options.metric, .nan = options.nan, .bound_inflation = bound_inflation};
}

core::QueryProblem queries_of(const RowSet& queries, Index k, const KnnOptions& options, core::Executor& executor) {
  core::QueryProblem problem{.queries = queries, .self = options.self, .k = k, .special = {}};
  const prepare::RowReader reader(select_kernels(), queries, metrics::traits_of(options.metric.metric).unit_rows);
  problem.special = prepare::find_special_rows(reader, options.nan, "queries", executor);
  return problem;
}

Range segment_rows(const BasePlan& plan, Index n, Index segment) noexcept {
  return {std::min(n, segment * plan.segment_rows), std::min(n, (segment + 1) * plan.segment_rows)};
}

void check_result_size(Index nq, Index k, const Wishes& wishes) {
  const auto need = static_cast<unsigned __int128>(nq) * static_cast<unsigned __int128>(k) * sizeof(Candidate);
  if (need <= wishes.memory) return;
  support::fail(ErrorCode::out_of_memory, "{} queries with {} neighbours each need {:.1f} GiB, the memory budget is {:.1f} GiB: raise it, lower k, or search fewer queries at a time",
                nq, k, static_cast<double>(need) / 0x1p30, static_cast<double>(wishes.memory) / 0x1p30);
}

void describe(Report& report, const core::Backend& backend, const BasePlan& base, const core::QueryPlan& plan, int threads) {
  report.backend = backend.name();
  report.isa = backend.isa();
  report.threads = threads;
  report.schedule = name_of(plan.schedule);
  report.screen = name_of(base.screen);
  report.tile_rows = plan.tile_rows;
  report.tile_cols = base.tile_cols;
  report.segments = base.segments;
  report.splits = plan.splits;
}

/// Lists longer than the base would only carry padding; the sink adds it.
Index list_length(Index k, const RowSet& base) noexcept { return std::max<Index>(1, std::min(k, base.rows)); }

void add(Report& report, const core::WorkCounts& counts) {
  report.survivors += counts.survivors;
  report.refined += counts.refined;
}

}  // namespace

Neighbours search_streaming(const RowSet& queries, const RowSet& base, Index k, const KnnOptions& options, double bound_inflation) {
  const Wishes wishes = wishes_of(options);
  check_result_size(queries.rows, k, wishes);
  const auto executor = make_executor(options.threads);
  const auto backend = make_backend(options.backend, executor->threads());
  const auto& traits = metrics::traits_of(options.metric.metric);
  const BasePlan base_plan = plan_base(base.rows, base.cols, traits, backend->device(), wishes, false);
  const core::QueryPlan query_plan = plan_queries(queries.rows, base.rows, base.cols, list_length(k, base), base_plan, backend->device(), wishes);

  Control control(options.progress, options.stop);
  const Stopwatch preparing;
  control.begin_phase("prepare", static_cast<double>(queries.rows + 2 * base.rows));
  ControlledExecutor query_checks(*executor, control, static_cast<double>(queries.rows));
  const core::QueryProblem problem = queries_of(queries, list_length(k, base), options, query_checks);
  const auto prepared = backend->prepare(problem_of(base, options, bound_inflation), base_plan, *executor);

  NeighboursSink sink(queries.rows, k, problem.k, traits, options.distances, base_plan.segments > 1);
  Report& report = sink.report();
  describe(report, *backend, base_plan, query_plan, executor->threads());
  double seconds_prepare = preparing.seconds();
  for (Index s = 0; s < base_plan.segments; ++s) {
    const Stopwatch packing;
    if (s > 0) control.begin_phase("prepare", static_cast<double>(2 * base.rows));
    const Range rows = segment_rows(base_plan, base.rows, s);
    ControlledExecutor packer(*executor, control, static_cast<double>(rows.size()));
    const auto segment = prepared->segment(rows, packer);
    control.end_phase();
    seconds_prepare += packing.seconds();

    const Stopwatch searching;
    control.begin_phase("search", static_cast<double>(queries.rows) * static_cast<double>(rows.size()));
    add(report, run_topk(*prepared, *segment, problem, base_plan, query_plan, s > 0 ? sink.carry() : nullptr, sink, *executor, control));
    control.end_phase();
    report.seconds_search += searching.seconds();
    segment->describe(report);
    report.pairs += static_cast<double>(queries.rows) * static_cast<double>(rows.size());
  }
  report.seconds_prepare = seconds_prepare;
  return sink.take(problem);
}

WholeBase::WholeBase(const RowSet& base, const KnnOptions& options) : base_(base) {
  const Stopwatch watch;
  executor_ = make_executor(options.threads);
  backend_ = make_backend(options.backend, executor_->threads());
  plan_ = plan_base(base.rows, base.cols, metrics::traits_of(options.metric.metric), backend_->device(), wishes_of(options), true);
  Control control(options.progress, options.stop);
  control.begin_phase("prepare", static_cast<double>(2 * base.rows));
  prepared_ = backend_->prepare(problem_of(base, options, 1), plan_, *executor_);
  for (Index s = 0; s < plan_.segments; ++s) {
    const Range rows = segment_rows(plan_, base.rows, s);
    ControlledExecutor packer(*executor_, control, static_cast<double>(rows.size()));
    segments_.push_back(prepared_->segment(rows, packer));
  }
  control.end_phase();
  seconds_ = watch.seconds();
}

Neighbours WholeBase::search(const RowSet& queries, Index k, const KnnOptions& options) const {
  const Wishes wishes = wishes_of(options);
  check_result_size(queries.rows, k, wishes);
  const auto& traits = metrics::traits_of(options.metric.metric);
  const Index list = list_length(k, base_);
  const core::QueryPlan plan = plan_queries(queries.rows, base_.rows, base_.cols, list, plan_, backend_->device(), wishes);
  Control control(options.progress, options.stop);
  const Stopwatch watch;
  control.begin_phase("search", static_cast<double>(queries.rows) * static_cast<double>(base_.rows));
  const core::QueryProblem problem = queries_of(queries, list, options, *executor_);
  NeighboursSink sink(queries.rows, k, list, traits, options.distances, segments_.size() > 1);
  describe(sink.report(), *backend_, plan_, plan, executor_->threads());
  for (std::size_t s = 0; s < segments_.size(); ++s) {
    add(sink.report(), run_topk(*prepared_, *segments_[s], problem, plan_, plan, s > 0 ? sink.carry() : nullptr, sink, *executor_, control));
    segments_[s]->describe(sink.report());
  }
  control.end_phase();
  sink.report().seconds_search = watch.seconds();
  sink.report().pairs = static_cast<double>(queries.rows) * static_cast<double>(base_.rows);
  return sink.take(problem);
}

}  // namespace tessera::engine
