// SPDX-License-Identifier: Apache-2.0
#include "metrics/screened_pairs.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>

#include "contract/oracle.hpp"
#include "metrics/traits.hpp"
#include "prepare/narrowing.hpp"

namespace tessera::testing {
namespace {

using metrics::BoundForm;
using metrics::PairBound;
using prepare::NarrowedRow;

constexpr float kInfinity = std::numeric_limits<float>::infinity();

struct Narrowed {
  std::vector<std::vector<float>> rows;
  std::vector<NarrowedRow> info;
};

template <class Narrow>
Narrowed narrow_all(const prepare::RowReader& reader, Narrow narrow) {
  Narrowed out;
  std::vector<double> row(static_cast<std::size_t>(reader.padded()));
  for (Index i = 0; i < reader.rows().rows; ++i) {
    reader.read(i, row.data());
    std::vector<float>& f = out.rows.emplace_back(static_cast<std::size_t>(reader.padded()));
    out.info.push_back(narrow(row.data(), f.data()));
  }
  return out;
}

/// z of the metric's screen: the canonical sum, negated for products.
long double canonical_z(Metric metric, const std::vector<double>& x, const std::vector<double>& y) {
  const double sum = oracle::canonical_sum(metric, x, y);
  return metric == Metric::inner_product ? -static_cast<long double>(sum) : static_cast<long double>(sum);
}

metrics::RowTerms maxima(const std::vector<NarrowedRow>& rows) {
  metrics::RowTerms m;
  for (const NarrowedRow& r : rows) {
    if (r.bypass) continue;
    m.norm2 = std::max(m.norm2, r.terms.norm2);
    m.norm = std::max(m.norm, r.terms.norm);
    m.residual = std::max(m.residual, r.terms.residual);
  }
  return m;
}

/// One query panel of a single row against all base panels.
void score_row(const kernels::CpuKernels& k, kernels::ScreenKernel kernel, kernels::ScreenCall call, Index rows, std::vector<float>& out) {
  std::vector<kernels::Hit> hits(static_cast<std::size_t>(call.last_panel * k.panel_cols));
  kernels::HitList list{hits.data(), 0};
  call.thresholds = &kInfinity;  // no score is greater
  call.lists = &list;
  call.capacity = static_cast<std::int32_t>(hits.size() + static_cast<std::size_t>(k.panel_cols));
  kernel(call);
  const std::size_t start = out.size();
  out.resize(start + static_cast<std::size_t>(rows));
  for (const kernels::Hit& hit : hits) {
    if (hit.position < rows) out[start + hit.position] = hit.score;
  }
}

/// The bound as a search of these queries has it.
metrics::BoundContext context_of(const prepare::Narrowing& narrowing, const RowSet& queries) {
  metrics::BoundContext context = narrowing.bound;
  context.whole = narrowing.whole && prepare::is_short_integer(queries.dtype);
  return context;
}

/// Every pair beside its canonical value.
ScreenedPairs paired(Metric metric, const metrics::BoundContext& context, const Narrowed& x, const Narrowed& y, const std::vector<float>& scores,
                     const RowSet& queries, const RowSet& base) {
  ScreenedPairs out{.context = context, .pairs = {}, .bypassed = 0};
  const metrics::RowTerms tile = maxima(y.info);
  std::vector<std::vector<double>> base_rows;
  for (Index i = 0; i < base.rows; ++i) base_rows.push_back(oracle::read_row(base, i, metric));
  for (std::size_t q = 0; q < x.info.size(); ++q) {
    const std::vector<double> row = oracle::read_row(queries, static_cast<Index>(q), metric);
    for (std::size_t i = 0; i < y.info.size(); ++i) {
      if (x.info[q].bypass || y.info[i].bypass) {
        ++out.bypassed;
        continue;
      }
      const long double z = canonical_z(metric, row, base_rows[i]) * static_cast<long double>(context.z_scale);
      out.pairs.push_back({x.info[q].terms, y.info[i].terms, tile, scores[q * y.info.size() + i], z});
    }
  }
  return out;
}

}  // namespace

std::vector<float> scores_of(const kernels::CpuKernels& k, metrics::Element element, bool dot, float factor, const std::vector<std::vector<float>>& queries,
                             const std::vector<std::vector<float>>& base, const std::vector<float>& bias, Index d) {
  const Index n = std::ssize(base);
  const Index panels = (n + k.panel_cols - 1) / k.panel_cols;
  std::vector<float> packed(static_cast<std::size_t>(panels * d * k.panel_cols));
  std::vector<float> padded_bias(static_cast<std::size_t>(panels * k.panel_cols), kInfinity);
  std::copy(bias.begin(), bias.end(), padded_bias.begin());
  for (Index p = 0; p < panels; ++p) {
    const Index count = std::min(k.panel_cols, n - p * k.panel_cols);
    std::vector<float> rows;
    for (Index j = 0; j < count; ++j) {
      const auto& row = base[static_cast<std::size_t>(p * k.panel_cols + j)];
      rows.insert(rows.end(), row.begin(), row.begin() + d);
    }
    k.interleave(rows.data(), d, count, d, k.panel_cols, packed.data() + p * d * k.panel_cols);
  }
  std::vector<float> out;
  for (const auto& query : queries) {
    const kernels::ScreenCall call{.query = query.data(), .base = packed.data(), .bias = padded_bias.data(), .thresholds = nullptr, .lists = nullptr, .depth = d,
                                   .first_panel = 0, .last_panel = panels, .capacity = 0, .factor = factor};
    score_row(k, k.screen(element, dot, 1).screen, call, n, out);
  }
  return out;
}

ScreenedPairs screen_all(const kernels::CpuKernels& k, Metric metric, bool dot, const RowSet& queries, const RowSet& base, const RowSet& centred_on) {
  const metrics::MetricTraits& traits = metrics::traits_of(metric);
  const auto narrowing = prepare::choose_narrowing(prepare::RowReader(k, centred_on, traits.unit_rows), traits, dot ? Screen::fp32_dot : Screen::fp32_direct, 1.0);
  const Index padded = prepare::padded_cols(base.cols);
  const Narrowed x = narrow_all(prepare::RowReader(k, queries, traits.unit_rows),
                                [&](const double* row, float* out) { return prepare::narrow_query_row(narrowing, k, row, padded, out, prepare::is_short_integer(queries.dtype)); });
  const Narrowed y = narrow_all(prepare::RowReader(k, base, traits.unit_rows),
                                [&](const double* row, float* out) { return prepare::narrow_base_row(narrowing, k, row, padded, out); });
  std::vector<float> bias;
  for (const NarrowedRow& row : y.info) {
    bias.push_back(narrowing.bound.form == metrics::BoundForm::dot_squared ? static_cast<float>(row.terms.norm2) : 0.0f);
  }
  const std::vector<float> scores = scores_of(k, narrowing.element, dot, narrowing.factor, x.rows, y.rows, bias, base.cols);

  return paired(metric, context_of(narrowing, queries), x, y, scores, queries, base);
}

ScreenedPairs screen_all_coarse(Screen screen, const kernels::CpuKernels& k, Metric metric, const RowSet& queries, const RowSet& base, const RowSet& centred_on,
                              double inflation) {
  const metrics::MetricTraits& traits = metrics::traits_of(metric);
  const auto narrowing = prepare::choose_narrowing(prepare::RowReader(k, centred_on, traits.unit_rows), traits, screen, inflation);
  const Index padded = prepare::padded_cols(base.cols);
  const Narrowed x = narrow_all(prepare::RowReader(k, queries, traits.unit_rows),
                                [&](const double* row, float* out) { return prepare::narrow_query_row(narrowing, k, row, padded, out, prepare::is_short_integer(queries.dtype)); });
  const Narrowed y = narrow_all(prepare::RowReader(k, base, traits.unit_rows),
                                [&](const double* row, float* out) { return prepare::narrow_base_row(narrowing, k, row, padded, out); });
  const Index panels = (base.rows + k.panel_cols - 1) / k.panel_cols;
  const auto columns = static_cast<std::size_t>(panels * k.panel_cols);
  std::vector<float> packed(columns * static_cast<std::size_t>(narrowing.depth));
  std::vector<float> bias(columns, kInfinity), scale(columns), residual(columns);
  std::vector<std::int32_t> start(columns);
  for (Index p = 0; p < panels; ++p) {
    const Index count = std::min(k.panel_cols, base.rows - p * k.panel_cols);
    std::vector<float> rows;
    for (Index j = 0; j < count; ++j) {
      const auto i = static_cast<std::size_t>(p * k.panel_cols + j);
      rows.insert(rows.end(), y.rows[i].begin(), y.rows[i].begin() + narrowing.depth);
      bias[i] = narrowing.bound.form == metrics::BoundForm::dot_squared ? static_cast<float>(y.info[i].terms.norm2) : 0.0f;
      scale[i] = y.info[i].step;
      residual[i] = y.info[i].terms.residual > 0 ? metrics::float_up(y.info[i].terms.residual) : 0.0f;
      start[i] = -k.int8_levels * y.info[i].sum;
    }
    k.interleave(rows.data(), narrowing.depth, count, narrowing.depth, k.panel_cols, packed.data() + p * narrowing.depth * k.panel_cols);
  }
  std::vector<float> scores;
  for (std::size_t q = 0; q < x.rows.size(); ++q) {
    const float factor = narrowing.factor * (narrowing.int8 ? x.info[q].step : 1.0f);
    const float reach = metrics::score_reach(narrowing.bound, x.info[q].terms);
    const kernels::ScreenCall call{.query = x.rows[q].data(), .base = packed.data(), .bias = bias.data(), .thresholds = nullptr, .lists = nullptr,
                                   .depth = narrowing.depth, .first_panel = 0, .last_panel = panels, .capacity = 0, .factor = narrowing.factor,
                                   .row_factor = &factor, .row_reach = &reach, .col_scale = scale.data(), .col_residual = residual.data(),
                                   .col_start = start.data()};
    score_row(k, prepare::screen_kernels(narrowing, k, 1).screen, call, base.rows, scores);
  }
  return paired(metric, context_of(narrowing, queries), x, y, scores, queries, base);
}

metrics::BoundContext inflated(const metrics::BoundContext& c, double factor) {
  metrics::BoundContext other = metrics::make_context(c.form, c.d, c.z_scale, c.centre_norm, factor, c.by_row);
  if (c.form == BoundForm::dot_squared || c.form == BoundForm::dot_product) {
    other.gamma = c.gamma;  // of tensor cores, too
    other.eta = c.eta;
  }
  return other;
}

Verdict judge(const metrics::BoundContext& context, const metrics::RowTerms& query, const metrics::RowTerms& base, float score, long double z) {
  const PairBound bound(context, query, base);
  Verdict v;
  v.bracket_holds = !(static_cast<long double>(bound.lower(score)) > z) && !(z > static_cast<long double>(bound.upper(score)));
  for (const double around : {0.0, 1e-3, 1.0, 1e3}) {
    PairBound lines = bound;
    lines.linearise(static_cast<double>(z) * around);
    if (static_cast<long double>(lines.lower(score)) > z || z > static_cast<long double>(lines.upper(score))) v.bracket_holds = false;
    if (context.form != metrics::BoundForm::direct_root && context.form != metrics::BoundForm::direct_linear) continue;
    const metrics::ThresholdLine line = bound.threshold_line(static_cast<double>(z) * around);
    const float product = line.slope * score;
    if (!(product + line.offset >= bound.threshold(bound.upper(score)))) v.threshold_holds = false;
  }
  // The largest double not above z is the tightest tau that this pair must survive; its neighbours are easier, but were free.
  double tau = static_cast<double>(z);
  if (static_cast<long double>(tau) < z) tau = std::nextafter(tau, std::numeric_limits<double>::infinity());
  for (const double t : {tau, std::nextafter(tau, std::numeric_limits<double>::infinity()), tau + std::abs(tau) * 1e-9}) {
    if (score > bound.threshold(t)) v.threshold_holds = false;
    if (context.form != metrics::BoundForm::dot_squared && context.form != metrics::BoundForm::dot_product) continue;
    // The same in two parts, as a column's threshold meets a row: as sure, and hardly wider.
    const float limit = PairBound::limit_of(context, t);
    const float whole = bound.threshold(t);
    const float sum = limit + bound.offset();
    if (score > sum) v.parts_hold = false;
    if (std::isfinite(whole)) v.parts_excess = std::max(v.parts_excess, (static_cast<double>(sum) - whole - 0x1p-145) / (std::abs(limit) + std::abs(bound.offset()) + 0x1p-149));
  }
  const double t0 = PairBound(inflated(context, 0), query, base).threshold(tau);
  const double t1 = PairBound(inflated(context, 1), query, base).threshold(tau);
  if (std::isfinite(t1) && t1 > t0) v.attained = (score - t0) / (t1 - t0);
  return v;
}

Int8Attainer int8_attainer() {
  Int8Attainer a{zeros(1, 17), zeros(1, 17)};
  std::fill(a.query.values.begin() + 1, a.query.values.end(), 1.0);
  std::fill(a.target.values.begin() + 1, a.target.values.end(), 8.49 / 8);
  a.target.values[0] = 127 / 8.0;
  return a;
}

Matrix chain_row(Index d, double small) {
  Matrix m = zeros(1, d);
  std::fill(m.values.begin(), m.values.end(), small);
  m.values[0] = 1;
  return m;
}

Matrix mirrored(const Matrix& row) {
  Matrix m = row;
  m.rows = 2;
  for (const double v : row.values) m.values.push_back(-v);
  return m;
}

std::optional<RowPair> narrowing_attainer(const kernels::CpuKernels& k) {
  constexpr Index kRows = 40;
  std::mt19937_64 random(5);
  for (int round = 0; round < 2000; ++round) {
    // Mantissas near 2^11.5 units make products that lose almost half a unit; rows a few units apart keep z far below u.
    const double near = 2048 + static_cast<double>(random() % 4096);
    auto above_one = [&] { return 1 + (near + static_cast<double>(random() % 64)) * 0x1p-23 + kAlmostHalfUlp; };
    Matrix queries = zeros(kRows, 1);
    for (double& v : queries.values) v = above_one();
    Matrix base = zeros(kRows, 1);
    for (std::size_t i = 0; i < base.values.size(); i += 2) {
      base.values[i] = above_one();
      base.values[i + 1] = -base.values[i];
    }
    const ScreenedPairs screened = screen_all(k, Metric::sqeuclidean, true, queries.view(), base.view());
    const metrics::BoundContext less = inflated(screened.context, kTooLittle);
    for (std::size_t i = 0; i < screened.pairs.size(); ++i) {
      const ScreenedPair& p = screened.pairs[i];
      const double lower = PairBound(less, p.query, p.base).lower(p.score);
      if (lower > p.z + 0x1p-26L * screened.context.z_scale) {
        return RowPair{queries.values[i / kRows], base.values[i % kRows], lower / screened.context.z_scale};
      }
    }
  }
  return std::nullopt;
}

}  // namespace tessera::testing
