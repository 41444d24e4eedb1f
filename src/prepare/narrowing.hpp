// SPDX-License-Identifier: Apache-2.0
// Here: how rows of doubles become the fp32 or 8-bit rows that screens see: centre, scale, and the terms their bounds need.
// Not here: memory layout (panels.hpp).
#pragma once

#include "core/executor.hpp"
#include "metrics/bound.hpp"
#include "metrics/lattice.hpp"
#include "metrics/traits.hpp"
#include "prepare/row_reader.hpp"
#include "support/aligned_buffer.hpp"
#include "tessera/options.hpp"

namespace tessera::prepare {

/// Chosen once for a base; queries are narrowed by the same scale.
struct Narrowing {
  metrics::BoundContext bound;
  metrics::Element element = metrics::Element::product;  // what the screen sums
  bool dot = true;
  bool int8 = false;                              // 8-bit integers instead of floats; dot form only
  bool bf16 = false;                              // pairs of bf16 instead of floats; dot form only
  Index depth = 0;                                // words of a narrowed row: floats, fours of integers, or pairs
  bool coarse() const noexcept { return int8 || bf16; }  // scores have the base row's own residual taken off
  float factor = 2;                               // dot form: score = bias - factor * <a, b>
  double scale = 1;                               // s, a power of two
  support::AlignedBuffer<double> base_centre;     // [padded]
  support::AlignedBuffer<double> query_centre;    // [padded]; zero for inner_product
  const metrics::Lattice* lattice = nullptr;      // periodic: rows are wrapped first, and packed as three columns of its frame
  bool base_centred = false;                      // a subtraction was rounded
  bool query_centred = false;
  bool whole = false;                             // rows and centre are whole numbers: centring rounds nothing
};

/// A narrowed row: what its bounds need, or the word that it has none and must always be computed exactly.
struct NarrowedRow {
  metrics::RowTerms terms;
  bool bypass = false;
  float step = 0;         // 8-bit rows: value = step * integer
  std::int32_t sum = 0;   // of the integers
};

/// A query row with what kernels take beside its elements.
struct ScreenedQuery {
  NarrowedRow row;
  float factor = 0;  // ScreenCall::row_factor; NaN without a bound, as are its elements: its pairs survive every comparison
  float reach = 0;   // ScreenCall::row_reach
};

/// Whether every value of the type is a whole number of at most 16 bits.
bool is_short_integer(DType dtype) noexcept;

/// Whether fp32 holds every value of the type exactly.
bool narrows_exactly(DType dtype) noexcept;

/// Looks at a sample of rows and chooses centre and scale. Any choice is right; a good one makes bounds tight.
/// lattice  of metrics between nearest images, else null; outlives the narrowing.
Narrowing choose_narrowing(const RowReader& reader, const metrics::MetricTraits& traits, Screen screen, double bound_inflation,
                           const metrics::Lattice* lattice = nullptr);

/// Columns that rows of d columns are packed as.
inline Index packed_cols(const metrics::MetricTraits& traits, Index d) noexcept { return traits.nearest_image ? kMostPeriodicCols : d; }

/// Rounds some floats to bf16; those below 2^-62 become 0, so that no product of two underflows.
/// returns  the sum of the squares of what that leaves over.
double round_to_bf16(const float* values, Index count, std::uint16_t* out) noexcept;

/// A narrowed row that was then rounded to bf16, with that sum: norm and residual cover it, too.
NarrowedRow rounded_to_bf16(const NarrowedRow& row, double rest) noexcept;

/// Words of a narrowed row of d columns.
Index narrowed_depth(Index d, Screen screen) noexcept;

/// The kernels that screen `rows` query rows narrowed so.
kernels::ScreenKernels screen_kernels(const Narrowing& narrowing, const kernels::CpuKernels& kernels, Index rows) noexcept;

/// out [padded] words. 8-bit integers of base rows are signed, those of query rows have the instruction set's int8_levels added.
NarrowedRow narrow_base_row(const Narrowing& narrowing, const kernels::CpuKernels& kernels, const double* row, Index padded, float* out) noexcept;
/// whole  the query's elements are whole numbers of at most 16 bits.
NarrowedRow narrow_query_row(const Narrowing& narrowing, const kernels::CpuKernels& kernels, const double* row, Index padded, float* out,
                             bool whole = false) noexcept;

/// As narrow_query_row(), ready for the screens of CpuKernels.
ScreenedQuery narrow_for_screen(const Narrowing& narrowing, const kernels::CpuKernels& kernels, const double* row, Index padded, float* out,
                                bool whole = false) noexcept;

}  // namespace tessera::prepare
