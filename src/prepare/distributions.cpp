// SPDX-License-Identifier: Apache-2.0
#include "prepare/distributions.hpp"

#include <algorithm>
#include <mutex>

#include "prepare/distribution_sorter.hpp"
#include "support/fail.hpp"

namespace tessera::prepare {
namespace {

using core::Distribution;
using core::Distributions;
using core::ValueType;
using support::AlignedBuffer;
using support::fail;

constexpr Index kBatchElements = Index{1} << 16;  // chosen: half a megabyte of samples a task

std::uint64_t item_bytes(const RowSet& rows) noexcept {
  if (rows.weights.data != nullptr) return 2 * sizeof(double);  // atoms are kept in double, whatever the type
  return value_type(rows.dtype) == ValueType::f32 ? sizeof(float) : sizeof(double);
}

Index elements(const RowSet& rows, core::Range range) noexcept {
  return rows.offsets != nullptr ? rows.offsets[range.last] - rows.offsets[range.first] : range.size() * rows.cols;
}

std::uint64_t block_bytes(const RowSet& rows, core::Range range) noexcept {
  const auto count = static_cast<std::uint64_t>(range.size());
  // Every row's values and ends start at a cache line and are padded.
  return static_cast<std::uint64_t>(elements(rows, range)) * item_bytes(rows) + count * 2 * (support::kAlignment + core::kPadding * sizeof(double));
}

/// Rows [first, last) in runs of about kBatchElements.
std::vector<core::Range> batches_of(const RowSet& rows, core::Range range) {
  std::vector<core::Range> batches;
  for (Index first = range.first; first < range.last;) {
    Index last = first + 1;
    while (last < range.last && elements(rows, {first, last + 1}) <= kBatchElements) ++last;
    batches.push_back({first, last});
    first = last;
  }
  return batches;
}

void complain(const Findings& found, const RowSet& rows, const BadRows& nan, std::string_view what) {
  if (found.fault.row >= 0) {
    fail(ErrorCode::malformed_input, "{}: distribution {}, sample {}: {}", what, rows.first_id + found.fault.row, found.fault.sample,
         found.fault.what);
  }
  if (nan.policy == NanPolicy::skip || found.skipped.empty()) return;
  if (found.not_finite.row < 0) {
    fail(ErrorCode::malformed_input, "{}: distribution {} is empty, the first of {}; wanted at least one sample: {}", what,
         rows.first_id + found.skipped.front(), found.skipped.size(), nan.remedy);
  }
  fail(ErrorCode::malformed_input,
       "{}: distribution {}, sample {}: {}; {} distributions have no finite samples only: {}", what, rows.first_id + found.not_finite.row,
       found.not_finite.sample, found.not_finite.what, found.skipped.size(), nan.remedy);
}

}  // namespace

std::uint64_t distribution_bytes(const RowSet& rows, core::Range range) noexcept {
  return block_bytes(rows, range) + static_cast<std::uint64_t>(range.size()) * sizeof(Distribution);
}

std::unique_ptr<Distributions> sort_distributions(const kernels::CpuKernels& kernels, const RowSet& rows, core::Range range, const BadRows& nan,
                                                  std::string_view what, core::Executor& executor) {
  auto out = std::make_unique<Distributions>();
  const std::vector<core::Range> batches = batches_of(rows, range);
  out->rows.resize(static_cast<std::size_t>(range.size()));
  out->storage.resize(batches.size());
  Findings all;
  std::mutex mutex;
  executor.run(std::ssize(batches), [&](Index task, int) {
    const core::Range batch = batches[static_cast<std::size_t>(task)];
    auto& block = out->storage[static_cast<std::size_t>(task)];
    block = AlignedBuffer<std::byte>(block_bytes(rows, batch));
    Findings found;
    DistributionSorter sorter(kernels, rows, block.data(), found);
    for (Index row = batch.first; row < batch.last; ++row) out->rows[static_cast<std::size_t>(row - range.first)] = sorter.take(row);
    const std::lock_guard lock(mutex);
    all.merge(found);
  });
  std::ranges::sort(all.skipped);
  complain(all, rows, nan, what);
  for (const Index row : all.skipped) out->skipped.push_back(row - range.first);
  for (const Distribution& d : out->rows) {
    out->longest = std::max(out->longest, d.runs ? static_cast<Index>(d.total) : d.size);
    out->longest_atoms = std::max(out->longest_atoms, d.size);
  }
  return out;
}

}  // namespace tessera::prepare
