// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "tessera/metric.hpp"
#include "tessera/options.hpp"
#include "tessera/progress.hpp"
#include "tessera/recall.hpp"
#include "tessera/result.hpp"
#include "tessera/rows.hpp"

// Approximate indices of FAISS, built, searched and judged beside exact search. In a library of its own (tessera::ann), so
// that programs that search exactly carry neither FAISS nor a BLAS. In builds without FAISS every call throws
// Error{unsupported}.
namespace tessera {

/// False: built without FAISS.
bool has_ann() noexcept;
/// "1.7.3"; "" without FAISS.
std::string faiss_version();

/// Search settings of an index, by FAISS's names: nprobe, efSearch, quantizer_efSearch, k_factor_rf, ht, ...; and search_L
/// of NSG, which FAISS has no name for.
struct AnnSetting {
  std::string name;
  double value = 0;
};
using AnnSettings = std::vector<AnnSetting>;
/// "nprobe=16,quantizer_efSearch=64"; "" for none.
std::string to_string(const AnnSettings& settings);

struct AnnBuildOptions {
  Metric metric = Metric::l2;   ///< l2, sqeuclidean, inner_product or cosine
  int threads = 0;              ///< 0: the cores the process may use
  std::uint64_t memory = 0;     ///< bytes for float32 copies of rows; 0: half of what is free
  Index train_rows = 0;         ///< rows trained on; 0: 256 a list, at least 65,536, at most all
  std::uint64_t seed = 1234;    ///< of the sample and of k-means
  const Neighbours* graph = nullptr;  ///< NSG and HNSW: exact neighbours of every base row, the row itself left out; links are chosen among them
  ProgressFunction progress{};  ///< phases "train" and "add", counted in rows
  std::stop_token stop{};       ///< looked at between batches
};

/// How a build went.
struct AnnBuildReport {
  double seconds_train = 0;
  double seconds_add = 0;
  Index train_rows = 0;
  Index zero_rows = 0;  // cosine: base rows without a direction; they are at distance 1 from every query
};

/// A FAISS index. Rows enter as float32 (float64 is rounded); ids are row positions from 0.
class AnnIndex {
 public:
  /// Trains and fills the index a factory string describes ("HNSW32", "IVF1024,Flat", "IVF100_HNSW32,Flat", "NSG32", ...).
  /// throws  Error: invalid_argument (a string FAISS does not know, too few rows to train it, a metric it lacks),
  ///         malformed_input (rows that are not finite in float32), out_of_memory, cancelled, unsupported.
  static AnnIndex build(const RowSet& base, const std::string& factory, const AnnBuildOptions& options = {});

  /// Reads and writes FAISS's own files. Such a file tells l2 from inner product but not cosine: say so when loading.
  /// throws  Error: io, malformed_input (no index, or cut short), invalid_argument (exists; another metric).
  static AnnIndex load(const std::string& path, std::optional<Metric> metric = std::nullopt);
  void save(const std::string& path, bool overwrite = false) const;

  AnnIndex(AnnIndex&&) noexcept;
  AnnIndex& operator=(AnnIndex&&) noexcept;
  ~AnnIndex();

  /// The index's k nearest rows of every query, as FAISS orders them; distances by Tessera's rules (l2 as a root, cosine
  /// 1 - s within [0, 2], inner products as they are) but of FAISS's accuracy; padding id -1.
  /// settings  stay set for later searches.
  /// throws    Error{invalid_argument}: a setting this index does not have; a dimension mismatch.
  Neighbours search(const RowSet& queries, Index k, const AnnSettings& settings = {}, int threads = 0);

  /// The settings a sweep tries, cheapest first: powers of two of what the index has (pruned by hand, not by data).
  std::vector<AnnSettings> default_settings(Index k) const;
  /// Sets one for later searches. returns  false: the index has none of this name.
  bool set(const AnnSetting& setting);

  Index rows() const noexcept;
  Index cols() const noexcept;
  Metric metric() const noexcept;
  std::uint64_t bytes() const;  ///< of its file
  const AnnBuildReport& report() const noexcept;

  struct Impl;
  explicit AnnIndex(std::unique_ptr<Impl> impl);

 private:
  std::unique_ptr<Impl> impl_;
};

/// Milliseconds of single queries, by nearest rank.
struct Latency {
  double p50 = 0;
  double p95 = 0;
  double p99 = 0;
  Index queries = 0;  // that were timed
};

/// One search setting, measured.
struct SweepPoint {
  std::string settings;
  double recall = 0;         // by RecallDefinition::tie
  double recall_strict = 0;
  double queries_per_second = 0;  // all queries in one call
  Latency latency;           // one query a call
  bool pareto = false;       // no other point of the sweep is as good in one and better in the other
};

struct SweepOptions {
  Index k = 10;
  int threads = 0;
  double seconds_per_point = 1;  ///< a timing is repeated until this much is spent, five times at most
  Index latency_queries = 200;   ///< single queries timed a point, at most
  std::vector<AnnSettings> settings{};  ///< empty: AnnIndex::default_settings(), up to the first that reaches enough_recall
  double enough_recall = 0.9995;        ///< settings past it only cost time
  std::function<void(const SweepPoint&)> on_point{};
  std::stop_token stop{};
};

/// Measures an index over its settings, cheapest first.
/// truth  exact neighbours of `queries`, deeper than k so that ties are seen.
std::vector<SweepPoint> sweep(AnnIndex& index, const RowSet& queries, const NeighbourLists& truth, const SweepOptions& options);

/// The exact path, measured alike: recall 1 by construction.
struct ExactPoint {
  SweepPoint point;
  double seconds_prepare = 0;
};
ExactPoint measure_exact(const RowSet& base, const RowSet& queries, Metric metric, const SweepOptions& options);

/// Sets `pareto` over all points given.
void mark_pareto(std::vector<SweepPoint*> points);

}  // namespace tessera
