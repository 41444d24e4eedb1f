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

/// One set of queries on its way through the segments of a base.
class Search {
 public:
  Search(const core::Backend& backend, const core::PreparedBaseBackend& prepared, const BasePlan& base_plan, const core::QueryPlan& plan,
         core::QueryProblem problem, NeighboursSink& sink, core::Executor& executor, Control& control)
      : prepared_(prepared), base_plan_(base_plan), plan_(plan), problem_(std::move(problem)), sink_(sink), executor_(executor),
        control_(control) {
    describe(sink.report(), backend, base_plan, plan, executor.threads());
  }

  void through(const core::PreparedSegment& segment, Index base_rows) {
    const core::WorkCounts counts =
        run_topk(prepared_, segment, problem_, base_plan_, plan_, first_ ? nullptr : sink_.carry(), sink_, executor_, control_);
    first_ = false;
    Report& report = sink_.report();
    report.survivors += counts.survivors;
    report.refined += counts.refined;
    report.pairs += pairs(base_rows);
    segment.describe(report);
  }

  double pairs(Index base_rows) const noexcept { return static_cast<double>(problem_.queries.rows) * static_cast<double>(base_rows); }
  Neighbours take() { return sink_.take(problem_); }

 private:
  const core::PreparedBaseBackend& prepared_;
  const BasePlan& base_plan_;
  const core::QueryPlan& plan_;
  core::QueryProblem problem_;
  NeighboursSink& sink_;
  core::Executor& executor_;
  Control& control_;
  bool first_ = true;
};

}  // namespace

Neighbours search_streaming(const RowSet& queries, const RowSet& base, Index k, const KnnOptions& options, double bound_inflation) {
  const Stopwatch total;
  const Wishes wishes = wishes_of(options);
  check_result_size(queries.rows, k, wishes);
  const auto executor = make_executor(options.threads);
  const auto backend = make_backend(options.backend, executor->threads());
  const auto& traits = metrics::traits_of(options.metric.metric);
  const Index list_k = list_length(k, base);
  const BasePlan base_plan = plan_base(base.rows, base.cols, traits, backend->device(), wishes, false);
  const core::QueryPlan query_plan = plan_queries(queries.rows, base.rows, base.cols, list_k, base_plan, backend->device(), wishes);

  Control control(options.progress, options.stop);
  control.begin_phase("prepare", static_cast<double>(queries.rows + 2 * base.rows));
  ControlledExecutor looker(*executor, control, static_cast<double>(base.rows));
  const auto prepared = backend->prepare(problem_of(base, options, bound_inflation), base_plan, looker);
  ControlledExecutor checks(*executor, control, static_cast<double>(queries.rows));
  NeighboursSink sink(queries.rows, k, list_k, traits, options.distances, base_plan.segments > 1);
  Search search(*backend, *prepared, base_plan, query_plan, queries_of(queries, list_k, options, checks), sink, *executor, control);

  double seconds_search = 0;
  for (Index s = 0; s < base_plan.segments; ++s) {
    const Range rows = segment_rows(base_plan, base.rows, s);
    if (s > 0) control.begin_phase("prepare", static_cast<double>(rows.size()));
    ControlledExecutor packer(*executor, control, static_cast<double>(rows.size()));
    const auto segment = prepared->segment(rows, packer);
    control.end_phase();

    const Stopwatch searching;
    control.begin_phase("search", search.pairs(rows.size()));
    search.through(*segment, rows.size());
    control.end_phase();
    seconds_search += searching.seconds();
  }
  sink.report().seconds_search = seconds_search;
  sink.report().seconds_prepare = total.seconds() - seconds_search;
  return search.take();
}

WholeBase::WholeBase(const RowSet& base, const KnnOptions& options) : base_(base) {
  const Stopwatch watch;
  executor_ = make_executor(options.threads);
  backend_ = make_backend(options.backend, executor_->threads());
  plan_ = plan_base(base.rows, base.cols, metrics::traits_of(options.metric.metric), backend_->device(), wishes_of(options), true);
  Control control(options.progress, options.stop);
  control.begin_phase("prepare", static_cast<double>(2 * base.rows));
  ControlledExecutor looker(*executor_, control, static_cast<double>(base.rows));
  prepared_ = backend_->prepare(problem_of(base, options, 1), plan_, looker);
  for (Index s = 0; s < plan_.segments; ++s) {
    const Range rows = segment_rows(plan_, base.rows, s);
    ControlledExecutor packer(*executor_, control, static_cast<double>(rows.size()));
    segments_.push_back(prepared_->segment(rows, packer));
  }
  control.end_phase();
  seconds_ = watch.seconds();
}

Neighbours WholeBase::search(const RowSet& queries, Index k, const KnnOptions& options) const {
  const Stopwatch watch;
  const Wishes wishes = wishes_of(options);
  check_result_size(queries.rows, k, wishes);
  const auto& traits = metrics::traits_of(options.metric.metric);
  const Index list_k = list_length(k, base_);
  const core::QueryPlan plan = plan_queries(queries.rows, base_.rows, base_.cols, list_k, plan_, backend_->device(), wishes);
  Control control(options.progress, options.stop);
  NeighboursSink sink(queries.rows, k, list_k, traits, options.distances, segments_.size() > 1);
  Search search(*backend_, *prepared_, plan_, plan, queries_of(queries, list_k, options, *executor_), sink, *executor_, control);
  control.begin_phase("search", search.pairs(base_.rows));
  for (std::size_t s = 0; s < segments_.size(); ++s) {
    search.through(*segments_[s], segment_rows(plan_, base_.rows, static_cast<Index>(s)).size());
  }
  control.end_phase();
  sink.report().seconds_search = watch.seconds();
  return search.take();
}

}  // namespace tessera::engine
