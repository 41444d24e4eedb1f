// SPDX-License-Identifier: Apache-2.0
#include "ann/faiss_index.hpp"

#include <faiss/impl/io.h>
#include <faiss/index_io.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <limits>

#include <unistd.h>

#include "ann/float_rows.hpp"
#include "ann/threads.hpp"
#include "io/output_path.hpp"
#include "io/temp_file.hpp"

namespace tessera {
namespace ann {
namespace {

namespace fs = std::filesystem;
using support::fail;

/// Reads an index; a file that ends too early is told from one that is something else.
std::unique_ptr<faiss::Index> read_index(const std::string& path) {
  try {
    return std::unique_ptr<faiss::Index>(faiss::read_index(path.c_str()));
  } catch (const faiss::FaissException& error) {
    std::error_code failed;
    const auto bytes = fs::file_size(path, failed);
    if (reason_of(error).starts_with("read error in") && bytes > sizeof(std::uint32_t)) {
      fail(ErrorCode::malformed_input, "'{}' is truncated, or no FAISS index: it ends at byte {} where FAISS {} wants more; write or fetch it again", path, bytes, faiss_version());
    }
    throw;
  }
}

/// Counts the bytes of an index's file without writing it.
struct ByteCounter : faiss::IOWriter {
  std::uint64_t bytes = 0;
  std::size_t operator()(const void*, std::size_t size, std::size_t items) override {
    bytes += size * items;
    return items;
  }
};

/// The index's file under way. The bytes go where a half-written index leaves nothing behind.
struct FileWriter : faiss::IOWriter {
  io::TempFile file;
  explicit FileWriter(const std::string& path) : file(path) { name = path; }
  std::size_t operator()(const void* bytes, std::size_t size, std::size_t items) override {
    file.append({static_cast<const std::byte*>(bytes), size * items});
    return items;
  }
};

/// FAISS's score as Tessera reports it.
float reported(float score, Metric metric) {
  switch (metric) {
    case Metric::l2: return std::sqrt(std::max(0.0F, score));
    case Metric::cosine: return std::clamp(1 - score, 0.0F, 2.0F);
    default: return metric == Metric::sqeuclidean ? std::max(0.0F, score) : score;
  }
}

/// The metric of a loaded index: what was asked, if the file can be that.
Metric metric_of(const faiss::Index& index, std::optional<Metric> asked, const std::string& path) {
  const bool l2 = index.metric_type == faiss::METRIC_L2;
  if (!l2 && index.metric_type != faiss::METRIC_INNER_PRODUCT) {
    fail(ErrorCode::unsupported, "'{}' uses FAISS metric {}; wanted l2 or inner product", path, static_cast<int>(index.metric_type));
  }
  if (!asked) return l2 ? Metric::l2 : Metric::inner_product;
  if ((faiss_metric(*asked) == faiss::METRIC_L2) != l2) {
    fail(ErrorCode::invalid_argument, "'{}' is an index by {}, asked for {}", path, l2 ? "l2" : "inner product (or cosine)", name_of(*asked));
  }
  return *asked;
}

void check_readable(const std::string& path) {
  std::error_code failed;
  const auto status = fs::status(path, failed);
  if (failed || !fs::exists(status)) fail(ErrorCode::io, "cannot open '{}': no such file", path);
  if (!fs::is_regular_file(status)) fail(ErrorCode::io, "cannot open '{}': it is no regular file", path);
  if (::access(path.c_str(), R_OK) != 0) fail(ErrorCode::io, "cannot open '{}': permission denied", path);
}

}  // namespace

std::string reason_of(const faiss::FaissException& error) {
  const std::string text = error.what();
  const auto failed = text.rfind("failed: ");  // "Error in F at FILE:LINE: Error: 'CONDITION' failed: REASON"
  if (failed != std::string::npos && failed + 8 < text.size()) return text.substr(failed + 8);
  const auto place = text.find(": ");
  return place == std::string::npos ? text : text.substr(place + 2);
}

faiss::MetricType faiss_metric(Metric metric) {
  switch (metric) {
    case Metric::l2:
    case Metric::sqeuclidean: return faiss::METRIC_L2;
    case Metric::inner_product:
    case Metric::cosine: return faiss::METRIC_INNER_PRODUCT;
    default: break;
  }
  fail(ErrorCode::invalid_argument, "FAISS indices are built for l2, sqeuclidean, inner_product and cosine, not {}", name_of(metric));
}

}  // namespace ann

using support::fail;

AnnIndex::AnnIndex(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
AnnIndex::AnnIndex(AnnIndex&&) noexcept = default;
AnnIndex& AnnIndex::operator=(AnnIndex&&) noexcept = default;
AnnIndex::~AnnIndex() = default;

AnnIndex AnnIndex::load(const std::string& path, std::optional<Metric> metric) {
  if (metric) ann::faiss_metric(*metric);
  ann::check_readable(path);
  auto impl = std::make_unique<Impl>();
  impl->index = ann::guarded(ErrorCode::malformed_input, "'" + path + "' is no index that FAISS " + faiss_version() + " reads",
                             [&] { return ann::read_index(path); });
  impl->metric = ann::metric_of(*impl->index, metric, path);
  return AnnIndex(std::move(impl));
}

void AnnIndex::save(const std::string& path, bool overwrite) const {
  io::check_output_path(path, overwrite);
  ann::FileWriter writer(path);
  ann::guarded(ErrorCode::io, "cannot write '" + path + "'", [&] { faiss::write_index(impl_->index.get(), &writer); });
  writer.file.commit(overwrite);
}

Neighbours AnnIndex::search(const RowSet& queries, Index k, const AnnSettings& settings, int threads) {
  if (k < 1) fail(ErrorCode::invalid_argument, "k is {}: wanted at least 1", k);
  if (queries.cols != cols()) fail(ErrorCode::invalid_argument, "queries have {} columns, the index has {}: wanted the same dimension", queries.cols, cols());
  for (const AnnSetting& setting : settings) {
    if (!set(setting)) fail(ErrorCode::invalid_argument, "this index has no setting '{}'", setting.name);
  }
  const ann::ThreadCount count(threads);
  ann::FloatRows rows(queries, impl_->metric == Metric::cosine, "queries");
  const float* x = rows.read(0, queries.rows);
  const bool descending = impl_->metric == Metric::inner_product;
  const auto size = static_cast<std::size_t>(queries.rows * k);
  Neighbours found{.rows = queries.rows, .k = k, .ids = std::vector<std::int64_t>(size, -1), .distances = std::vector<float>(size), .distances64 = {}, .shifts = {}, .report = {}};
  static_assert(sizeof(faiss::Index::idx_t) == sizeof(std::int64_t));
  std::vector<faiss::Index::idx_t> ids(size, -1);
  ann::guarded(ErrorCode::invalid_argument, "searching", [&] { impl_->index->search(queries.rows, x, k, found.distances.data(), ids.data()); });
  const float pad = descending ? -std::numeric_limits<float>::infinity() : std::numeric_limits<float>::infinity();
  for (std::size_t i = 0; i < size; ++i) {
    found.ids[i] = ids[i];
    found.distances[i] = ids[i] < 0 ? pad : ann::reported(found.distances[i], impl_->metric);
  }
  found.report.zero_queries = rows.zero_rows();
  return found;
}

std::vector<AnnSettings> AnnIndex::default_settings(Index k) const { return ann::default_settings(*impl_->index, k); }

bool AnnIndex::set(const AnnSetting& setting) { return ann::apply_setting(*impl_->index, setting); }

Index AnnIndex::rows() const noexcept { return impl_->index->ntotal; }
Index AnnIndex::cols() const noexcept { return impl_->index->d; }
Metric AnnIndex::metric() const noexcept { return impl_->metric; }
const AnnBuildReport& AnnIndex::report() const noexcept { return impl_->report; }

std::uint64_t AnnIndex::bytes() const {
  ann::ByteCounter counter;
  ann::guarded(ErrorCode::unsupported, "this index cannot be written", [&] { faiss::write_index(impl_->index.get(), &counter); });
  return counter.bytes;
}

bool has_ann() noexcept { return true; }
std::string faiss_version() { return fmt::format("{}.{}.{}", FAISS_VERSION_MAJOR, FAISS_VERSION_MINOR, FAISS_VERSION_PATCH); }

}  // namespace tessera
