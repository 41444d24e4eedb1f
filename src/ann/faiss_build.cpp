// SPDX-License-Identifier: Apache-2.0
#include <faiss/IVFlib.h>
#include <faiss/IndexHNSW.h>
#include <faiss/IndexIVF.h>
#include <faiss/IndexIVFPQ.h>
#include <faiss/IndexNSG.h>
#include <faiss/IndexPQ.h>
#include <faiss/index_factory.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <numeric>
#include <random>
#include <string_view>
#include <system_error>

#include "ann/faiss_index.hpp"
#include "ann/float_rows.hpp"
#include "ann/hnsw_from_graph.hpp"
#include "ann/threads.hpp"
#include "support/cpu.hpp"

namespace tessera {
namespace ann {
namespace {

using support::fail;
using Clock = std::chrono::steady_clock;

constexpr Index kLeastTrainRows = 65'536;  // FAISS trains a 256-centroid code on at most 256 rows a centroid
constexpr Index kRowsPerList = 256;        // source: ClusteringParameters::max_points_per_centroid

double seconds_since(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

/// One seed for all, and no warnings on stderr about small training sets: the library does not print.
void set_clustering(faiss::Index& index, std::uint64_t seed) {
  const auto set = [seed](faiss::ClusteringParameters& parameters) {
    parameters.seed = static_cast<int>(seed);
    parameters.min_points_per_centroid = 1;
  };
  if (auto* ivf = faiss::ivflib::try_extract_index_ivf(&index)) set(ivf->cp);
  if (auto* pq = dynamic_cast<faiss::IndexPQ*>(&index)) set(pq->pq.cp);
  if (auto* ivf_pq = dynamic_cast<faiss::IndexIVFPQ*>(faiss::ivflib::try_extract_index_ivf(&index))) set(ivf_pq->pq.cp);
}

Index train_rows(const faiss::Index& index, Index rows, Index asked) {
  if (asked > 0) return std::min(asked, rows);
  const auto* ivf = faiss::ivflib::try_extract_index_ivf(&index);
  const Index lists = ivf != nullptr ? static_cast<Index>(ivf->nlist) : 0;
  return std::min(rows, std::max(kLeastTrainRows, kRowsPerList * lists));
}

/// `count` row numbers of `rows`, ascending: the file is then read front to back. The generator and this way of drawing are
/// fixed by the C++ standard, so a seed means the same rows everywhere.
std::vector<Index> sample(Index rows, Index count, std::uint64_t seed) {
  std::vector<Index> picked(static_cast<std::size_t>(rows));
  std::iota(picked.begin(), picked.end(), Index{0});
  std::mt19937_64 random(seed);
  for (Index i = 0; i < count && count < rows; ++i) {
    const auto other = i + static_cast<Index>(random() % static_cast<std::uint64_t>(rows - i));
    std::swap(picked[static_cast<std::size_t>(i)], picked[static_cast<std::size_t>(other)]);
  }
  picked.resize(static_cast<std::size_t>(count));
  std::sort(picked.begin(), picked.end());
  return picked;
}

/// A base on its way into an index.
class Builder {
  /// FAISS crashes on components of zero lists, links or codes.
  void check_counts() const {
    for (std::size_t i = 1; i < factory_.size(); ++i) {
      const auto digit = [&](std::size_t at) { return at < factory_.size() && factory_[at] >= '0' && factory_[at] <= '9'; };
      if (factory_[i] != '0' || digit(i - 1) || factory_[i - 1] == '.') continue;  // "10", "0.5"
      if (digit(i + 1) || (i + 1 < factory_.size() && factory_[i + 1] == '.')) continue;
      fail(ErrorCode::invalid_argument, "index '{}': 0 lists, links or codes; wanted at least 1", factory_);
    }
  }

  /// HNSW with one link a row has levels without end in FAISS; with very many, tables past all memory.
  void check_links() const {
    constexpr std::string_view kName = "HNSW";
    for (std::size_t at = factory_.find(kName); at != std::string::npos; at = factory_.find(kName, at + 1)) {
      const char* first = factory_.data() + at + kName.size();
      std::uint64_t links = 32;  // FAISS's default
      const auto [end, error] = std::from_chars(first, factory_.data() + factory_.size(), links);
      if (end != first && error == std::errc{} && links == 1) fail(ErrorCode::invalid_argument, "index '{}': HNSW with 1 link a row; wanted at least 2", factory_);
      const std::uint64_t rows = at == 0 ? static_cast<std::uint64_t>(base_.rows) : 1;  // as a quantizer its rows are the lists'
      if (error == std::errc::result_out_of_range || links > memory_ / sizeof(std::int32_t) / 2 / std::max<std::uint64_t>(1, rows)) {
        fail(ErrorCode::out_of_memory, "index '{}': its links alone, {} a row, pass the memory budget of {} bytes: fewer links, or raise it", factory_, std::string(first, end), memory_);
      }
    }
  }

 public:
  Builder(const RowSet& base, const std::string& factory, const AnnBuildOptions& options)
      : base_(base), factory_(factory), options_(options), rows_(base, options.metric == Metric::cosine, "base") {
    memory_ = options.memory > 0 ? options.memory : support::available_memory() / 2;
  }

  std::unique_ptr<AnnIndex::Impl> build() {
    check_counts();
    auto impl = std::make_unique<AnnIndex::Impl>();
    impl->metric = options_.metric;
    check_links();
    const int cols = static_cast<int>(base_.cols);
    impl->index = guarded(ErrorCode::invalid_argument, "index '" + factory_ + "'", [&] {
      return std::unique_ptr<faiss::Index>(faiss::index_factory(cols, factory_.c_str(), faiss_metric(options_.metric)));
    });
    set_clustering(*impl->index, options_.seed);
    train(*impl->index, impl->report);
    add(*impl->index, impl->report);
    impl->report.zero_rows = zero_rows_;
    return impl;
  }

 private:
  void train(faiss::Index& index, AnnBuildReport& report) {
    if (index.is_trained) return;
    const auto start = Clock::now();
    const Index count = train_rows(index, base_.rows, options_.train_rows);
    check_fits(count, "rows to train on; lower train_rows");
    tell("train", 0, static_cast<double>(count));
    const float* x = rows_.read(sample(base_.rows, count, options_.seed));
    guarded(ErrorCode::invalid_argument, "training '" + factory_ + "' on " + std::to_string(count) + " rows", [&] { index.train(count, x); });
    tell("train", static_cast<double>(count), static_cast<double>(count));
    report.train_rows = count;
    report.seconds_train = seconds_since(start);
  }

  void add(faiss::Index& index, AnnBuildReport& report) {
    const auto start = Clock::now();
    const Index before = rows_.zero_rows();  // the training sample counted some
    if (options_.graph != nullptr) {
      add_with_graph(index, *options_.graph);
    } else if (dynamic_cast<faiss::IndexNSG*>(&index) != nullptr) {
      check_fits(base_.rows, "rows at once, which NSG wants");
      add_rows(index, 0, base_.rows);
    } else {
      const Index batch = std::max<Index>(1024, static_cast<Index>(memory_ / 4 / row_bytes()));  // a quarter: FAISS copies too
      for (Index first = 0; first < base_.rows; first += batch) add_rows(index, first, std::min(base_.rows, first + batch));
    }
    zero_rows_ = rows_.zero_rows() - before;
    report.seconds_add = seconds_since(start);
  }

  void add_rows(faiss::Index& index, Index first, Index last) {
    stop_if_asked();
    const float* x = rows_.read(first, last);
    guarded(ErrorCode::invalid_argument, "adding to '" + factory_ + "'", [&] { index.add(last - first, x); });
    tell("add", static_cast<double>(last), static_cast<double>(base_.rows));
  }

  /// All rows at once, and which lie near each other.
  void add_with_graph(faiss::Index& index, const Neighbours& graph) {
    auto* nsg = dynamic_cast<faiss::IndexNSG*>(&index);
    auto* hnsw = dynamic_cast<faiss::IndexHNSW*>(&index);
    if (nsg == nullptr && hnsw == nullptr) fail(ErrorCode::invalid_argument, "index '{}' takes no kNN graph: only NSG and HNSW do", factory_);
    check_fits(base_.rows, "rows at once, which a graph goes with");
    const std::vector<faiss::Index::idx_t> ids = positions(graph);
    const float* x = rows_.read(0, base_.rows);
    tell("add", 0, static_cast<double>(base_.rows));
    guarded(ErrorCode::invalid_argument, "building '" + factory_ + "' from the graph", [&] {
      if (nsg != nullptr) {
        nsg->build(base_.rows, x, const_cast<faiss::Index::idx_t*>(ids.data()), static_cast<int>(graph.k));
      } else {
        ann::add_with_graph(*hnsw, base_.rows, x, ids, graph.k);
      }
    });
    tell("add", static_cast<double>(base_.rows), static_cast<double>(base_.rows));
  }

  /// The graph's ids as rows of the index.
  std::vector<faiss::Index::idx_t> positions(const Neighbours& graph) const {
    if (graph.rows != base_.rows) {
      fail(ErrorCode::malformed_input, "the graph has {} lists, the base {} rows: wanted one list a row", graph.rows, base_.rows);
    }
    std::vector<faiss::Index::idx_t> ids(graph.ids.size());
    for (std::size_t i = 0; i < ids.size(); ++i) {
      ids[i] = graph.ids[i] < 0 ? -1 : graph.ids[i] - base_.first_id;
      if (ids[i] >= base_.rows || ids[i] < -1) {
        fail(ErrorCode::malformed_input, "the graph's list {} names row {}, the base has {}: a graph of another base?",
             static_cast<Index>(i) / graph.k, graph.ids[i], base_.rows);
      }
    }
    return ids;
  }

  std::uint64_t row_bytes() const { return sizeof(float) * static_cast<std::uint64_t>(base_.cols); }
  void check_fits(Index rows, const char* what) const {
    if (static_cast<std::uint64_t>(rows) <= memory_ / row_bytes()) return;
    fail(ErrorCode::out_of_memory, "{} {}: {} bytes as float32, the memory budget is {}: raise it", rows, what,
         static_cast<std::uint64_t>(rows) * row_bytes(), memory_);
  }
  void stop_if_asked() const {
    if (options_.stop.stop_requested()) fail(ErrorCode::cancelled, "interrupted");
  }
  void tell(std::string_view phase, double done, double total) const {
    stop_if_asked();
    if (options_.progress) options_.progress({.phase = phase, .done = done, .total = total});
  }

  const RowSet& base_;
  const std::string& factory_;
  const AnnBuildOptions& options_;
  FloatRows rows_;
  std::uint64_t memory_ = 0;
  Index zero_rows_ = 0;
};

}  // namespace
}  // namespace ann

AnnIndex AnnIndex::build(const RowSet& base, const std::string& factory, const AnnBuildOptions& options) {
  ann::faiss_metric(options.metric);  // refused before anything is read
  if (base.cols < 1) support::fail(ErrorCode::invalid_argument, "base: 0 columns, wanted at least 1");
  const ann::ThreadCount threads(options.threads);
  return AnnIndex(ann::Builder(base, factory, options).build());
}

}  // namespace tessera
