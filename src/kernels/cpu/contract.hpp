// SPDX-License-Identifier: Apache-2.0
// Here: what a CPU kernel set offers, one table per instruction set. Not here: threads, memory, files, metrics by name.
// Kernels are pure arithmetic over pointers: they neither allocate nor throw.
#pragma once

#include <cstddef>
#include <cstdint>

#include "metrics/lattice.hpp"
#include "metrics/threshold_line.hpp"
#include "metrics/traits.hpp"
#include "tessera/rows.hpp"

namespace tessera::kernels {

/// A pair the screen could not dismiss: its score and the base row's position among the packed rows.
struct Hit {
  float score;
  std::uint32_t position;
};

/// Where a query row's hits go. A kernel may only start a panel while count + panel width <= capacity.
struct HitList {
  Hit* hits;               // [capacity]
  std::int32_t count;
};

/// A lattice's brick in scaled fp32: how periodic screens fold differences (docs/numerics.md, section 18).
struct FoldTerms {
  float edge[3];      // the brick's diagonal; +inf where nothing repeats
  float inverse[3];   // 1 / edge
  float yx, zx, zy;   // below the diagonal
  const float* images;  // [image_count, 4]: t and |t|^2 of the vectors that folding may miss, one of t and -t
  std::int32_t image_count;
};

/// How much of folding a periodic screen does.
enum class Folding : std::uint8_t {
  box,    // orthogonal brick: each axis by itself
  brick,  // any brick, without the list: right while thresholds stay below half the smallest edge, an upper bound always
  list    // any brick
};

/// One query panel against a run of base panels. A word is a float, four 8-bit elements, or two in bf16.
struct ScreenCall {
  const float* query;        // [depth, panel_rows] words, the rows' elements interleaved
  const float* base;         // [panels, depth, panel_cols] words
  const float* bias;         // [panels, panel_cols]; dot forms only
  const float* thresholds;   // [panel_rows]
  HitList* lists;            // [panel_rows]
  Index depth;               // words of a row
  Index first_panel;
  Index last_panel;
  std::int32_t capacity;     // of every list
  float factor;              // dot form: score = bias - factor * <query, base>
  const FoldTerms* fold = nullptr;  // periodic screens only
  // 8-bit screen: score = bias - row_factor * (col_scale * sum q_x q_y) - row_reach * col_residual. In bf16 the same without col_scale and col_start.
  const float* row_factor = nullptr;         // [panel_rows]
  const float* row_reach = nullptr;          // [panel_rows]
  const float* col_scale = nullptr;          // [panels, panel_cols]
  const float* col_residual = nullptr;       // [panels, panel_cols]
  const std::int32_t* col_start = nullptr;   // [panels, panel_cols]: -levels * sum q_y
  // Mutual screen: a pair is past its column, too, when its score is greater than col_limit + row_offset, summed in fp32.
  const float* col_limits = nullptr;         // [panels, panel_cols]
  const float* row_offsets = nullptr;        // [panel_rows], finite
};

/// Screens panels first..last and appends every pair that is not provably past its row's threshold: the comparison is
/// "not greater", so NaN survives. Stops early when a list could not take another whole panel.
/// returns  the first panel not done (last_panel when all are).
using ScreenKernel = Index (*)(const ScreenCall& call) noexcept;

/// The smallest score in every column of the panels first..last, one row apart: minima [rows, panel_cols], lowered in place. NaN is
/// passed over. Each column is a set of base rows of its own, so the k-th smallest of a row's minima bounds its k-th best.
using SeedKernel = void (*)(const ScreenCall& call, float* minima) noexcept;

struct ScreenKernels {
  ScreenKernel screen = nullptr;
  SeedKernel seed = nullptr;
  ScreenKernel mutual = nullptr;  // as screen, but what is past its row's threshold stays unless it is past its column, too; dot forms only
};

/// Boxes that are looked at together: low [d, kBoxes], then high [d, kBoxes].
inline constexpr Index kBoxes = 16;

/// The score of the two nearest corners of a box (low [d], then high [d]) and each of a group: what a direct screen would give them.
using BoxKernel = void (*)(const float* box, const float* group, Index d, float* scores) noexcept;  // scores [kBoxes]

/// What a panel of queries has kept on its way through near blocks.
struct NearLists {
  float* scores;             // [rows, stride]
  std::uint32_t* positions;  // [rows, stride]
  std::int32_t* counts;      // [rows]
  Index stride;              // kNearSlack more than the longest list
};
/// Whole vectors are written past a list's end.
inline constexpr Index kNearSlack = 16;

/// A full query panel against a run of base panels, whose columns end before `columns`; the screen's lists and capacity are not used.
struct NearCall {
  ScreenCall screen;
  NearLists lists;
  Index columns;
};
/// Appends every pair that is not provably past its row's threshold to the row's list; a row that is to keep nothing has the threshold -inf. Every list has
/// room for all columns.
/// returns  the longest list that was appended to.
using NearScreenKernel = std::int32_t (*)(const NearCall& call) noexcept;

/// Lowers the threshold of every list that has at least `from` and `wanted` entries to what its wanted-th smallest score implies, and drops what is past it.
/// returns  how many were dropped.
using TightenKernel = std::int64_t (*)(const NearLists& lists, float* thresholds, Index rows, std::int32_t wanted, std::int32_t from,
                               const metrics::ThresholdLine& line) noexcept;

/// Canonical sums of x [d] against rows at positions [count], d <= kMostGathered: sums [count rounded up to 16]. rows [.., stride].
using GatheredSumsKernel = void (*)(const double* x, const double* rows, Index stride, Index d, const std::uint32_t* positions, Index count,
                                    double* sums) noexcept;
inline constexpr Index kMostGathered = 8;

/// Canonical squared distances of x to the nearest images of rows at positions [count]: keys [count rounded up to 16]. rows [.., stride].
using NearestKeysKernel = void (*)(const metrics::Lattice& lattice, const double* x, const double* rows, Index stride, const std::uint32_t* positions, Index count,
                                   double* keys) noexcept;

/// ranks[i] = how many of the keys [count] are less than key i; count <= kMostRanked, which both arrays hold.
/// returns  false when keys tie or do not compare: ranks then say nothing.
using RankKernel = bool (*)(double* keys, Index count, std::int64_t* ranks) noexcept;
inline constexpr Index kMostRanked = 64;

/// Members of groups of boxes whose two nearest corners score at most `reach`: their numbers, group * kBoxes + place, and scores.
/// box     [2 d] low, then high.
/// boxes   [.., 2 d, kBoxes]; `nodes` of them are boxes.
/// groups  [count]; scores and numbers have room for kBoxes * count + kNearSlack.
/// returns how many there are, in the order of groups.
using BoxesWithinKernel = Index (*)(const float* box, const float* boxes, Index d, float reach, const std::uint32_t* groups, Index count, Index nodes,
                                    float* scores, std::uint32_t* numbers) noexcept;

/// The kernels of searches through near blocks.
struct NearKernels {
  NearScreenKernel (*screen)(metrics::Element element) noexcept;  // null for products
  NearScreenKernel (*periodic_screen)(Folding folding) noexcept;
  BoxesWithinKernel (*boxes_within)(metrics::Element element) noexcept;  // null for products
  TightenKernel tighten;
  GatheredSumsKernel (*sums)(metrics::Element element) noexcept;  // null for products
  NearestKeysKernel nearest_keys;
  RankKernel rank;
};

/// Canonical sum over two rows of doubles, zero-padded to a multiple of 16 (numerics.md: lanes16, then +0.0).
using CanonicalKernel = double (*)(const double* x, const double* y, Index padded) noexcept;

/// The nearest image of y as seen from x: the canonical squared distance, and the cells that y moves by. Of images that tie the
/// lexicographically smallest.
struct NearestImage {
  double key;
  double shift[3];  // whole numbers
};
/// x, y [3], within Lattice::largest_value.
using NearestImageKernel = NearestImage (*)(const metrics::Lattice& lattice, const double* x, const double* y) noexcept;

/// One point against many, every distance to the nearest image wanted, in fp32.
struct ImageCall {
  const metrics::Lattice* lattice;
  const double* x;          // [3]
  const double* y;          // [3, stride]: the columns' coordinates apart; up to 15 past the last are read
  Index stride;
  Index cols;
  float low;                // squares from here on, and below `high`, are proven
  float high;
  float* out;               // [cols]
  std::uint16_t* doubtful;  // [cols / 16, rounded up]: bit j is set where column j's distance is not good enough
};
/// returns  true when any bit of `doubtful` was set.
using ImageKernel = bool (*)(const ImageCall& call) noexcept;

/// Coordinates of x in the lattice's frame, folded into the brick: w [3].
/// returns  what rounding may have done to them, and to the canonical root of any image of x, in norm.
using WrapKernel = double (*)(const metrics::Lattice& lattice, const double* x, double* w) noexcept;
/// As WrapKernel; n [3]: the cells that x is moved by.
using PlaceKernel = double (*)(const metrics::Lattice& lattice, const double* x, double* w, double* n) noexcept;
/// As CanonicalKernel, with y still in float32 as it is stored, not padded: y [d].
using StoredCanonicalKernel = double (*)(const double* x, const float* y, Index d) noexcept;

/// Converts one row to doubles and pads it with zeros: out [padded], padded = d rounded up to 16.
using ConvertKernel = void (*)(const std::byte* row, Index col_stride, bool byte_swapped, Index d, double* out) noexcept;

/// What is wrong with, or special about, a row of doubles.
struct RowScan {
  double max_abs;   // NaN-free only if finite
  bool finite;
};
using ScanKernel = RowScan (*)(const double* row, Index padded) noexcept;

/// Divides a row by its norm, after scaling by 2^-exponent(max|x|) so that neither square nor sum can leave the range
/// of double. A zero row stays as it is. max_abs is the row's own, finite.
using NormaliseKernel = void (*)(double* row, Index padded, double max_abs) noexcept;

/// Norms of a packed row, in scaled units.
struct PackStats {
  double norm2;         // sum v^2, v = fl(x - c) * s
  double residual2;     // sum (v - packed)^2
  double residual_sum;  // sum |v - packed|
  double residual_max;  // max |v - packed|
};
/// Narrows s * (row - centre) to fp32: out [padded], zeros past d.
using PackKernel = PackStats (*)(const double* row, const double* centre, double scale, Index padded, float* out) noexcept;

/// Rows beyond this square of a norm have no integers; their stats say so by that norm (or NaN) and nothing else.
inline constexpr double kLargestQuantisedNorm2 = 0x1p100;
/// Smallest step: products of two steps and an integer stay normal floats.
inline constexpr double kSmallestStep = 0x1p-60;

/// A row in 8-bit integers: s * (row - centre) ~ step * q. In a query |q| <= int8_levels. In a base row |q| <= 127, and the integers
/// of one sign that share a group add up to int8_group_sum at most: a group is 16i + {0, 1, 4, 5, 8, 9, 12, 13}, or those + 2.
struct QuantiseStats {
  double norm2;         // sum v^2, v = fl(x - c) * s
  double residual2;     // sum (v - step q)^2
  double residual_max;  // max |v - step q|
  float step;
  std::int32_t sum;     // sum q
};
/// least_step  no step is smaller; at least kSmallestStep. The scale itself keeps whole numbers that fit whole.
/// out         [padded], zeros past d.
using QuantiseKernel = QuantiseStats (*)(const double* row, const double* centre, double scale, double least_step, Index padded, std::int8_t* out) noexcept;

/// Interleaves `count` narrowed rows of `depth` words (row i at rows + i*stride) into a panel [depth, width]; missing rows are zero.
using InterleaveKernel = void (*)(const float* rows, Index stride, Index count, Index depth, Index width, float* panel) noexcept;

/// Terms of fp32 that are summed before the sum is carried on in double: a chain of this length errs by 64 u, whatever d is
/// (numerics.md, dump values).
inline constexpr Index kChainTerms = 64;

/// Packed rows as value kernels take them.
struct ValueRows {
  const float* packed;   // query side [d, rows], base side [panels, d, panel_cols]
  const double* norm2;   // |packed row|^2; dot forms
  const float* norm;     // its root; dot forms
  const float* slack;    // what narrowing may have moved the row by, times 2^18; direct forms
};

/// What a sum becomes. Sums are in scaled units, results are not.
struct ValueFinish {
  float factor;  // a power of two
  float cap;     // no result is above it
  float ratio;   // dot form of squared distances: good where the square exceeds ratio * |a| |b|
  bool root;     // the square root is reported
};

/// One query panel against a run of base panels, all values wanted.
struct ValueCall {
  ValueRows query;
  ValueRows base;
  Index d;
  Index panels;
  float* out;              // [rows, panels * panel_cols], out_stride apart
  Index out_stride;
  std::uint64_t* doubtful;  // [panels, rows]: bit j is set where column j's value is not good enough
  ValueFinish finish;
};

/// returns  true when any bit of `doubtful` was set.
using ValueKernel = bool (*)(const ValueCall& call) noexcept;

/// How values are formed (numerics.md, dump values).
enum class ValueForm : std::uint8_t {
  dot_squared,    // (|a|^2 + |b|^2) - 2<a,b>
  dot_product,    // <a,b>
  direct_squared, // sum (a-b)^2
  direct_linear   // sum |a-b| or max |a-b|
};

/// Rounds n floats to IEEE half, ties to even.
using HalveKernel = void (*)(const float* values, Index n, std::uint16_t* out) noexcept;

/// What a difference of quantiles adds to its lane of lanes16.
enum class QuantileTerm : std::uint8_t {
  absolute,  // fma(w, |x|, lane)
  square,    // fma(w, |x|^2, lane)
  power,     // fma(w, (|x| / divisor)^p, lane)
  maximum    // max(lane, |x|) where w > narrowest
};

struct QuantileNorm {
  QuantileTerm term = QuantileTerm::absolute;
  double p = 1;
  double divisor = 1;
  double narrowest = 0;
};

/// Segments of the quantile axis, one after the other: widths and differences [count], count a multiple of 16, segment t in lane
/// t mod 16. lanes [16] goes from call to call.
using SegmentKernel = void (*)(const double* widths, const double* differences, Index count, const QuantileNorm& norm, double* lanes) noexcept;

/// How the quantile axis is cut into segments: docs/numerics.md, section 19.
enum class QuantileCut : std::uint8_t { equal, scheduled, merged };

/// Two sorted distributions. Behind the last value stand 16 more copies of it, behind the last end 16 ends that are not smaller.
struct QuantileCall {
  const void* x = nullptr;           // [n] float or double
  const void* y = nullptr;           // [m]
  const double* ends_x = nullptr;    // [n]; merged only
  const double* ends_y = nullptr;    // [m]
  double unit_x = 1;                 // ends are multiplied by it
  double unit_y = 1;
  Index n = 0;
  Index m = 0;
};

/// Steps first..last of one pair: samples of both (equal), samples of y (scheduled, n < m), or segments (merged, n + m - 1 of them);
/// first a multiple of 16. lanes [16] goes from call to call.
using QuantileKernel = void (*)(const QuantileCall& call, Index first, Index last, const QuantileNorm& norm, double* lanes) noexcept;

/// Ends a sum: lanes16's reduction, or the largest lane.
using LanesKernel = double (*)(const double* lanes) noexcept;

struct QuantileKernels {
  QuantileKernel (*pair)(QuantileCut cut, QuantileTerm term, bool wide_x, bool wide_y) noexcept;  // wide: double, else float
  SegmentKernel (*segments)(QuantileTerm term) noexcept;
  LanesKernel sum;
  LanesKernel largest;
};

/// Everything the engine needs of one instruction set.
struct CpuKernels {
  const char* isa;
  Index panel_cols;                                             // base rows in a panel
  Index panel_rows;                                             // query rows in a full panel, a power of two
  ScreenKernels (*screen)(metrics::Element element, bool dot, Index rows) noexcept;  // rows: 1, 2, 4, ... panel_rows
  CanonicalKernel canonical[metrics::kElementCount];
  BoxKernel (*boxes)(metrics::Element element) noexcept;        // null for products
  NearestImageKernel nearest_image;
  ImageKernel images;
  WrapKernel wrap;
  PlaceKernel place;
  ScreenKernels (*periodic_screen)(Folding folding, Index rows) noexcept;  // over rows of 3 columns, wrapped
  StoredCanonicalKernel canonical_f32[metrics::kElementCount];
  ConvertKernel convert[kDTypeCount];
  ScanKernel scan;
  NormaliseKernel normalise;
  PackKernel pack;
  InterleaveKernel interleave;
  ValueKernel (*values)(metrics::Element element, ValueForm form, Index rows) noexcept;  // rows: 1 or panel_rows
  HalveKernel halve;
  QuantileKernels quantiles;
  NearKernels near;
  // 8-bit screen.
  ScreenKernels (*int8_screen)(Index rows) noexcept;            // null: this instruction set has none that pays
  QuantiseKernel quantise_query;
  QuantiseKernel quantise_base;
  int int8_levels;
  int int8_group_sum;                                           // 0: no limit
  ScreenKernels (*bf16_screen)(Index rows) noexcept;            // null: this instruction set has no products of bf16
};

namespace scalar {
const CpuKernels& table() noexcept;
}
namespace avx2 {
const CpuKernels& table() noexcept;
}
namespace avx512 {
const CpuKernels& table() noexcept;
}
namespace avx512_vnni {
const CpuKernels& table() noexcept;
}
namespace avx512_bf16 {
const CpuKernels& table() noexcept;
}

}  // namespace tessera::kernels
