// SPDX-License-Identifier: Apache-2.0
// Here: one row of any type becomes one sorted distribution. Not here: sets of them, threads, messages (distributions.cpp).
#pragma once

#include <vector>

#include "core/distributions.hpp"
#include "kernels/cpu/contract.hpp"

namespace tessera::prepare {

/// Distributions as they are stored: where float32 holds the type, in it.
core::ValueType value_type(DType dtype) noexcept;

/// What is wrong with a set: the first row with a fault of its own, and the rows that are not finite.
struct Findings {
  struct Fault {
    Index row = -1;
    Index sample = 0;
    const char* what = nullptr;
  };
  Fault fault;                 // never skipped
  Fault not_finite;            // the first
  std::vector<Index> skipped;  // all rows that are not finite or empty

  static void earlier(Fault& into, const Fault& from) noexcept {
    if (from.row >= 0 && (into.row < 0 || from.row < into.row)) into = from;
  }
  void merge(const Findings& other) {
    earlier(fault, other.fault);
    earlier(not_finite, other.not_finite);
    skipped.insert(skipped.end(), other.skipped.begin(), other.skipped.end());
  }
};

/// A weighted value.
struct Atom {
  double value;
  double weight;
  /// By weight too: sums of weights then don't depend on the order of the input.
  bool operator<(const Atom& other) const noexcept { return value != other.value ? value < other.value : weight < other.weight; }
};

/// Reads rows into scratch, one after the other, and sorts them into a block of memory.
class DistributionSorter {
 public:
  /// block    room for all rows that will be taken, each array at a cache line.
  DistributionSorter(const kernels::CpuKernels& kernels, const RowSet& rows, std::byte* block, Findings& found)
      : kernels_(kernels), rows_(rows), next_(block), found_(found) {}

  /// Size 0 when the row has a fault, which is among the findings then.
  core::Distribution take(Index row);

 private:
  void read(const std::byte* from, DType dtype, Index stride, bool swapped, Index n, std::vector<double>& out) const;
  bool check_values(Index row, Index n);
  bool read_weights(Index row, Index n);
  core::Distribution keep_samples(Index n);
  template <class T>
  core::Distribution keep_samples_as(std::vector<T>& x, Index n, core::ValueType type);
  template <class T>
  core::Distribution keep_runs(const std::vector<T>& x, Index distinct, core::Distribution d);
  core::Distribution keep_atoms();
  bool read_wide(Index row, Index n);
  core::Distribution keep_wide(Index n);
  core::Distribution refuse_wide(Index row);
  template <class T>
  T* place(Index n, T padding) noexcept;

  const kernels::CpuKernels& kernels_;
  const RowSet& rows_;
  std::byte* next_;
  Findings& found_;
  std::vector<double> values_;
  std::vector<double> weights_;
  std::vector<float> floats_;
  std::vector<double> doubles_;
  std::vector<std::int64_t> wide_;
  std::vector<Atom> atoms_;
};

}  // namespace tessera::prepare
