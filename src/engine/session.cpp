// SPDX-License-Identifier: Apache-2.0
#include "engine/session.hpp"

#include <algorithm>
#include <limits>

#include "engine/control.hpp"
#include "engine/filter.hpp"
#include "engine/neighbours_sink.hpp"
#include "engine/periodic_lists.hpp"
#include "engine/plan.hpp"
#include "engine/plan_distributions.hpp"
#include "engine/plan_symmetric.hpp"
#include "engine/registry.hpp"
#include "engine/run.hpp"
#include "engine/workers.hpp"
#include "prepare/distributions.hpp"
#include "prepare/panels.hpp"
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
  return {.screen = options.screen, .schedule = options.schedule, .prune = options.prune, .symmetric = options.symmetric, .tile = options.tile, .memory = memory};
}

core::BaseProblem problem_of(const RowSet& base, const KnnOptions& options, double bound_inflation) {
  return {.base = base, .metric = options.metric, .nan = options.nan, .denied = denied_rows(options.filter, base), .bound_inflation = bound_inflation};
}

std::shared_ptr<const metrics::Lattice> lattice_of(const KnnOptions& options, const RowSet& points) {
  if (!metrics::traits_of(options.metric.metric).nearest_image) return nullptr;
  return metrics::make_lattice(options.metric.cell.value(), points.cols);
}

/// What lists of some metrics still owe once they are whole.
Neighbours completed(Neighbours lists, const RowSet& queries, const RowSet& base, const KnnOptions& options, core::Executor& executor) {
  if (const auto lattice = lattice_of(options, queries)) complete_lists(lists, queries, base, *lattice, options.shifts, select_kernels(), executor);
  return lists;
}

/// The caller's wishes, with what the data say where the caller has none.
Wishes advised(Wishes wishes, const core::Backend& backend, const core::BaseProblem& problem, const RowSet* queries, Index k) {
  if (wishes.screen == Screen::automatic && wishes.prune != Pruning::on) wishes.screen = backend.advise_screen(problem, queries, k);
  return wishes;
}

/// Distributions as both sides see them; null where rows are vectors.
std::shared_ptr<const core::Distributions> sorted(const RowSet& rows, const KnnOptions& options, core::Executor& executor) {
  if (!metrics::traits_of(options.metric.metric).distributions) return nullptr;
  return prepare::sort_distributions(select_kernels(), rows, {0, rows.rows}, options.nan, "queries", executor);
}

/// distributions: the queries as sorted() leaves them.
core::QueryProblem queries_of(const RowSet& queries, std::shared_ptr<const core::Distributions> distributions, Index k, const KnnOptions& options, core::Executor& executor) {
  core::QueryProblem problem{.queries = queries, .self = options.self, .k = k, .special = {}, .order = {}, .distributions = std::move(distributions)};
  if (problem.distributions) {
    problem.special.skipped = problem.distributions->skipped;
    return problem;
  }
  const prepare::RowReader reader(select_kernels(), queries, metrics::traits_of(options.metric.metric).unit_rows);
  const auto lattice = lattice_of(options, queries);
  problem.special = prepare::find_special_rows(reader, options.nan, "queries", executor, prepare::largest_value(lattice.get()));
  return problem;
}

BasePlan plan_base_of(const RowSet& base, const metrics::MetricTraits& traits, const core::DeviceInfo& device, const Wishes& wishes, bool whole) {
  return traits.distributions ? plan_distributions(base, device, wishes, whole) : plan_base(base.rows, base.cols, traits, device, wishes, whole);
}

core::QueryPlan plan_queries_of(const RowSet& queries, const RowSet& base, Index list_k, const metrics::MetricTraits& traits, const BasePlan& plan,
                                const core::DeviceInfo& device, const Wishes& wishes) {
  return traits.distributions ? plan_distribution_queries(queries, base, plan, device, wishes)
                              : plan_queries(queries.rows, base.rows, base.cols, list_k, plan, device, wishes);
}

Range segment_rows(const BasePlan& plan, Index n, Index segment) noexcept {
  return {std::min(n, segment * plan.segment_rows), std::min(n, (segment + 1) * plan.segment_rows)};
}

void check_result_size(Index nq, Index k, const Wishes& wishes) {
  const auto need = static_cast<unsigned __int128>(nq) * static_cast<unsigned __int128>(k) * sizeof(Candidate);
  if (need <= wishes.memory) return;
  support::fail(ErrorCode::out_of_memory, "{} queries with {} neighbours each need {:.0f} bytes, the memory budget is {}: raise it, lower k, or search fewer queries at a time",
                nq, k, static_cast<double>(need), wishes.memory);
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
  report.pruned = base.pruned;
  report.symmetric = plan.symmetric;
}

/// True when both are one and the same array.
bool same_rows(const RowSet& a, const RowSet& b) noexcept {
  const auto& u = a.weights;
  const auto& v = b.weights;
  return a.data == b.data && a.rows == b.rows && a.cols == b.cols && a.dtype == b.dtype && a.row_stride == b.row_stride &&
         a.col_stride == b.col_stride && a.byte_swapped == b.byte_swapped && a.offsets == b.offsets && u.data == v.data && u.dtype == v.dtype &&
         u.row_stride == v.row_stride && u.col_stride == v.col_stride && u.byte_swapped == v.byte_swapped;
}

/// True when queries and base are one set, and every row has one id in both.
bool is_itself(const RowSet& queries, const RowSet& base, const KnnOptions& options) noexcept {
  return same_rows(queries, base) && (options.self == SelfMode::none || queries.first_id == base.first_id);
}

/// Queries that are the base in the order of its positions; those that have none come last.
void follow_positions(core::QueryProblem& problem, const core::PreparedSegment& segment) {
  const Index rows = problem.queries.rows;
  if (segment.cols() == rows) return;
  std::vector<bool> placed(static_cast<std::size_t>(rows));
  problem.order.reserve(static_cast<std::size_t>(rows));
  const auto place = [&](Index row) {
    placed[static_cast<std::size_t>(row)] = true;
    problem.order.push_back(row);
  };
  for (Index p = 0; p < segment.cols(); ++p) place(segment.row_at(p));
  for (Index row = 0; row < rows; ++row) {
    if (!placed[static_cast<std::size_t>(row)]) place(row);
  }
}

/// Queries of a pruned search in an order that keeps near ones together: that of the base where they are its rows.
void order_queries(core::QueryProblem& problem, const RowSet& base, const core::PreparedBaseBackend& prepared, const core::PreparedSegment& segment,
                   const KnnOptions& options, std::uint64_t memory, core::Executor& executor) {
  const auto& traits = metrics::traits_of(options.metric.metric);
  // Without an order tiles are wider and more is visited; the lists are the same.
  const auto rows = static_cast<std::uint64_t>(problem.queries.rows);
  if (rows > std::numeric_limits<std::uint32_t>::max() || rows > memory / 4 / order_bytes(prepare::packed_cols(traits, problem.queries.cols))) return;
  std::vector<Index> left_out = problem.special.skipped;
  left_out.insert(left_out.end(), problem.special.zero.begin(), problem.special.zero.end());
  if (same_rows(problem.queries, base) && std::ssize(segment.order()) + std::ssize(left_out) == base.rows) {
    problem.packed = std::shared_ptr<const core::PreparedSegment>(std::shared_ptr<void>{}, &segment);  // outlives the search
  } else {
    problem.packed = prepared.pack_queries(problem, executor);
  }
  if (problem.packed) {
    problem.order.assign(problem.packed->order().begin(), problem.packed->order().end());
  } else {
    problem.order = prepare::ordered_rows({select_kernels(), problem.queries, traits.unit_rows}, problem.special, prepare::kPrunedRows, executor,
                                          lattice_of(options, problem.queries).get());
  }
  problem.order.insert(problem.order.end(), left_out.begin(), left_out.end());
}

/// Lists longer than the base would only carry padding; the sink adds it.
Index list_length(Index k, const RowSet& base) noexcept { return std::max<Index>(1, std::min(k, base.rows)); }

/// One set of queries on its way through the segments of a base.
class Search {
 public:
  Search(const core::Backend& backend, const core::PreparedBaseBackend& prepared, const RowSet& base, const KnnOptions& options,
         const BasePlan& base_plan, const core::QueryPlan& plan, core::QueryProblem problem, NeighboursSink& sink, std::uint64_t memory,
         core::Executor& executor, Control& control)
      : prepared_(prepared), base_(base), options_(options), memory_(memory), base_plan_(base_plan), plan_(plan), problem_(std::move(problem)), sink_(sink), executor_(executor),
        control_(control) {
    describe(sink.report(), backend, base_plan, plan, executor.threads());
    sink_.follow(problem_);
  }

  void through(const core::PreparedSegment& segment, Index base_rows) {
    const Stopwatch ordering;
    if (base_plan_.pruned && first_) order_queries(problem_, base_, prepared_, segment, options_, memory_, executor_);
    if (plan_.symmetric) follow_positions(problem_, segment);
    seconds_packing_ += ordering.seconds();
    const core::WorkCounts counts =
        plan_.symmetric ? run_symmetric(prepared_, segment, problem_, base_plan_, plan_, sink_, executor_, control_)
                        : run_topk(prepared_, segment, problem_, {0, problem_.queries.rows}, base_plan_, plan_, first_ ? nullptr : sink_.carry(), sink_, executor_, control_);
    first_ = false;
    Report& report = sink_.report();
    report.survivors += counts.survivors;
    report.refined += counts.refined;
    seconds_packing_ += counts.seconds_packing / executor_.threads();
    pruned_ += static_cast<double>(counts.pruned);
    report.pairs += pairs(base_rows);
    segment.describe(report);
  }

  /// Of the queries, so far.
  double seconds_packing() const noexcept { return seconds_packing_; }
  double pairs(Index base_rows) const noexcept { return static_cast<double>(problem_.queries.rows) * static_cast<double>(base_rows); }
  Neighbours take() {
    Report& report = sink_.report();
    report.pruned_fraction = report.pairs > 0 ? pruned_ / report.pairs : 0;
    return sink_.take();
  }

 private:
  const core::PreparedBaseBackend& prepared_;
  const RowSet& base_;
  const KnnOptions& options_;
  std::uint64_t memory_;
  const BasePlan& base_plan_;
  const core::QueryPlan& plan_;
  core::QueryProblem problem_;
  NeighboursSink& sink_;
  core::Executor& executor_;
  Control& control_;
  double pruned_ = 0;  // pairs
  double seconds_packing_ = 0;
  bool first_ = true;
};

void note_seconds(Report& report, double prepare, double pack, double search) noexcept {
  report.seconds_prepare = prepare;
  report.seconds_pack = pack;
  report.seconds_search = search;
}

}  // namespace

Neighbours search_streaming(const RowSet& queries, const RowSet& base, Index k, const KnnOptions& options, double bound_inflation,
                            const BackendMaker& maker) {
  const Stopwatch total;
  const Wishes wishes = wishes_of(options);
  check_result_size(queries.rows, k, wishes);
  const auto executor = make_executor(options.threads);
  const auto backend = maker ? maker(options.backend, executor->threads()) : make_backend(options.backend, executor->threads());
  const auto& traits = metrics::traits_of(options.metric.metric);
  const Index list_k = list_length(k, base);
  core::BaseProblem problem = problem_of(base, options, bound_inflation);
  // A set in itself is a sample of its own queries. A look at data costs more than small calls could gain.
  const RowSet* asked = options.self == SelfMode::none && !same_rows(queries, base) ? &queries : nullptr;
  const double work = static_cast<double>(queries.rows) * static_cast<double>(base.rows) * static_cast<double>(base.cols);
  BasePlan base_plan = plan_base_of(base, traits, backend->device(), work >= kLookFrom ? advised(wishes, *backend, problem, asked, list_k) : wishes, false);
  core::QueryPlan query_plan = plan_queries_of(queries, base, list_k, traits, base_plan, backend->device(), wishes);
  plan_symmetric(is_itself(queries, base, options), queries.rows, list_k, base_plan, backend->device(), wishes, query_plan);
  if (query_plan.symmetric) plan_symmetric_tiles(base.rows, backend->device(), wishes, base_plan);

  Control control(options.progress, options.stop);
  control.begin_phase("prepare", static_cast<double>(queries.rows + 2 * base.rows));
  ControlledExecutor checks(*executor, control, static_cast<double>(queries.rows));
  const auto distributions = sorted(queries, options, checks);
  if (base_plan.segments == 1 && same_rows(queries, base)) problem.sorted = distributions;
  ControlledExecutor looker(*executor, control, static_cast<double>(base.rows));
  const auto prepared = backend->prepare(problem, base_plan, looker);
  NeighboursSink sink(queries.rows, k, list_k, traits, options.distances, base_plan.segments > 1);
  Search search(*backend, *prepared, base, options, base_plan, query_plan, queries_of(queries, distributions, list_k, options, checks), sink, wishes.memory, *executor, control);

  double seconds_search = 0;
  double seconds_packing = 0;
  for (Index s = 0; s < base_plan.segments; ++s) {
    const Range rows = segment_rows(base_plan, base.rows, s);
    if (s > 0) control.begin_phase("prepare", static_cast<double>(rows.size()));
    ControlledExecutor packer(*executor, control, static_cast<double>(rows.size()));
    const Stopwatch packing;
    const auto segment = prepared->segment(rows, packer);
    seconds_packing += packing.seconds();
    control.end_phase();

    const Stopwatch searching;
    control.begin_phase("search", search.pairs(rows.size()));
    search.through(*segment, rows.size());
    control.end_phase();
    seconds_search += searching.seconds();
  }
  const double queries_packed = search.seconds_packing();
  note_seconds(sink.report(), total.seconds() - seconds_search + queries_packed, seconds_packing + queries_packed, seconds_search - queries_packed);
  return completed(search.take(), queries, base, options, *executor);
}

WholeBase::WholeBase(const RowSet& base, const KnnOptions& options) : base_(base) {
  const Stopwatch watch;
  executor_ = make_executor(options.threads);
  backend_ = make_backend(options.backend, executor_->threads());
  const core::BaseProblem problem = problem_of(base, options, 1);
  const Wishes wishes = advised(wishes_of(options), *backend_, problem, nullptr, 1);
  plan_ = plan_base_of(base, metrics::traits_of(options.metric.metric), backend_->device(), wishes, true);
  Control control(options.progress, options.stop);
  control.begin_phase("prepare", static_cast<double>(2 * base.rows));
  ControlledExecutor looker(*executor_, control, static_cast<double>(base.rows));
  prepared_ = backend_->prepare(problem, plan_, looker);
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
  core::QueryPlan plan = plan_queries_of(queries, base_, list_k, traits, plan_, backend_->device(), wishes);
  plan_symmetric(is_itself(queries, base_, options), queries.rows, list_k, plan_, backend_->device(), wishes, plan);
  Control control(options.progress, options.stop);
  NeighboursSink sink(queries.rows, k, list_k, traits, options.distances, segments_.size() > 1);
  Search search(*backend_, *prepared_, base_, options, plan_, plan, queries_of(queries, sorted(queries, options, *executor_), list_k, options, *executor_), sink, wishes.memory, *executor_, control);
  control.begin_phase("search", search.pairs(base_.rows));
  for (std::size_t s = 0; s < segments_.size(); ++s) {
    search.through(*segments_[s], segment_rows(plan_, base_.rows, static_cast<Index>(s)).size());
  }
  control.end_phase();
  const double queries_packed = search.seconds_packing();
  note_seconds(sink.report(), queries_packed, queries_packed, watch.seconds() - queries_packed);
  return completed(search.take(), queries, base_, options, *executor_);
}

}  // namespace tessera::engine
