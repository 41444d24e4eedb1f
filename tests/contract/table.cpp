// SPDX-License-Identifier: Apache-2.0
#include "contract/table.hpp"

#include <fmt/format.h>

#include <cmath>
#include <iterator>
#include <limits>
#include <random>

namespace tessera::testing {
namespace {

constexpr Index kFirstId = 11;

// Around the panels (8, 24, 48 base rows; 4, 8 queries) and the tiles (48, 96).
constexpr Index kBaseRows[] = {0, 1, 2, 7, 8, 9, 23, 24, 25, 47, 48, 49, 95, 96, 97, 150};
constexpr Index kQueryRows[] = {0, 1, 3, 4, 5, 8, 9, 33, 70};
constexpr Index kCols[] = {1, 2, 3, 15, 16, 17, 33, 100};
constexpr Index kTiles[] = {0, 48, 96};
constexpr Screen kScreens[] = {Screen::automatic, Screen::fp32, Screen::fp32_direct, Screen::fp32_dot, Screen::double_precision, Screen::int8, Screen::bf16};
constexpr Schedule kSchedules[] = {Schedule::automatic, Schedule::by_query, Schedule::by_base};
constexpr SelfMode kSelfModes[] = {SelfMode::none, SelfMode::natural, SelfMode::exclude, SelfMode::first};

/// Data that the type can hold: integers get some spread, float16 no infinities.
void adapt(Matrix& m, DType dtype) {
  for (double& v : m.values) {
    if (is_integer(dtype)) v *= 40;
    if (dtype == DType::f16) v = std::clamp(v, -6e4, 6e4);
  }
}

void sprinkle(Matrix& m) {
  constexpr double kBad[] = {std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::infinity(), -std::numeric_limits<double>::infinity()};
  for (Index i = 2; i < m.rows; i += 7) m.row(i)[i % m.cols] = kBad[i % 3];
}

Matrix rows_for(const Case& c, DType dtype, Index rows, std::mt19937_64& random) {
  Matrix m = make(static_cast<Kind>(c.at[kind]), rows, c.d(), random);
  adapt(m, dtype);
  if (c.skip_nan()) sprinkle(m);
  return m;
}

}  // namespace

std::vector<int> levels() {
  return {kDTypeCount, kDTypeCount, kLayoutCount, kLayoutCount, kKindCount, static_cast<int>(std::size(kBaseRows)), static_cast<int>(std::size(kQueryRows)),
          static_cast<int>(std::size(kCols)), 6, 4, 2, 3, static_cast<int>(std::size(kScreens)), 3, 3, 2, 2, 2};
}

Index Case::nb() const { return kBaseRows[at[base_rows]] + more_base; }
Index Case::nq() const { return kQueryRows[at[query_rows]] + more_queries; }
Index Case::d() const { return kCols[at[cols]]; }
SelfMode Case::self_mode() const { return kSelfModes[at[self]]; }

std::string Case::describe() const {
  return fmt::format("{} seed {}: base {} {} [{}, {}] {}, queries {} {} [{}], k {}, self {}, nan {}, {}, screen {}, tile {}, threads {}, segmented {}, {}, {}",
                     name_of(metric), seed, name_of(dtype(base_dtype)), name_of(static_cast<Layout>(at[base_layout])), nb(), d(),
                     name_of(static_cast<Kind>(at[kind])), name_of(dtype(query_dtype)), name_of(static_cast<Layout>(at[query_layout])), nq(),
                     neighbours(), name_of(self_mode()), skip_nan() ? "skip" : "error", name_of(kSchedules[at[schedule]]), name_of(kScreens[at[screen]]),
                     kTiles[at[tile]], at[threads] + 1, at[segmented], at[wide] ? "float64" : "float32", at[prune] ? "pruned" : "not pruned");
}

Data data_of(const Case& c) {
  std::mt19937_64 random(c.seed);
  const Matrix base = rows_for(c, c.dtype(base_dtype), c.nb(), random);
  Matrix queries = rows_for(c, c.dtype(query_dtype), c.nq(), random);
  // Half of the queries are base rows, so that zero distances occur.
  for (Index i = 0; i < queries.rows && c.nb() > 0; i += 2) std::copy_n(base.row((3 * i) % c.nb()), c.d(), queries.row(i));
  adapt(queries, c.dtype(query_dtype) == DType::f16 ? DType::f16 : DType::f64);
  Data data{Stored(base, c.dtype(base_dtype), static_cast<Layout>(c.at[base_layout])),
            Stored(queries, c.dtype(query_dtype), static_cast<Layout>(c.at[query_layout])), {}, {}};
  data.base_rows = data.base.rows();
  data.base_rows.first_id = kFirstId;
  data.query_rows = data.queries.rows();
  if (c.self_mode() != SelfMode::none) {
    const Index first = c.nb() / 3;
    data.query_rows = slice(data.base_rows, first, std::min(c.nb(), first + c.nq()));
  }
  return data;
}

KnnOptions options_of(const Case& c, Index nq) {
  KnnOptions o{.metric = {c.metric}, .self = c.self_mode()};
  o.nan = c.skip_nan() ? NanPolicy::skip : NanPolicy::error;
  o.distances = c.at[wide] ? DistanceType::float64 : DistanceType::float32;
  o.schedule = kSchedules[c.at[schedule]];
  o.screen = kScreens[c.at[screen]];
  o.tile = kTiles[c.at[tile]];
  o.prune = c.at[prune] ? Pruning::on : Pruning::off;
  o.threads = c.at[threads] + 1;
  if (c.at[segmented] == 1 && c.nb() > 0) {
    o.tile = 48;
    // Room for a little over one tile, and for the lists that the budget also has to hold.
    const Index words = std::max(c.d() + 1, (c.d() + 3) / 4 + 4);  // of a row as floats, and as 8-bit integers
    const Index bytes = std::max(50 * words * 4 * 4 / 3 + 64, nq * c.neighbours() * 16 + 64);
    o.memory = static_cast<std::uint64_t>(bytes);
  }
  return o;
}

bool unprunable(Metric metric, Screen wish) {
  return metric == Metric::inner_product || wish == Screen::fp32_dot || wish == Screen::int8 || wish == Screen::bf16 || wish == Screen::double_precision;
}

bool unavailable(Metric metric, Screen wish, bool has_bf16) {
  if (wish == Screen::bf16 && !has_bf16) return true;
  if (wish == Screen::fp32_dot || wish == Screen::int8 || wish == Screen::bf16) return metric == Metric::l1 || metric == Metric::linf;
  return wish == Screen::fp32_direct && metric == Metric::inner_product;
}

}  // namespace tessera::testing
