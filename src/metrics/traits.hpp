// SPDX-License-Identifier: Apache-2.0
// Here: what a metric says of itself, as plain values. Not here: how anything is computed (kernels/) or bounded (bound.hpp).
#pragma once

#include <cstdint>
#include <limits>

#include "tessera/metric.hpp"
#include "tessera/rows.hpp"

namespace tessera::metrics {

/// The sums kernels know. Order is the order of the kernel tables.
enum class Element : std::uint8_t { squared_difference, product, absolute_difference, maximum_difference };
inline constexpr int kElementCount = 4;

/// How the screen's score brackets the value z it stands for (bound.hpp).
enum class BoundForm : std::uint8_t {
  dot_squared,    // z = |x-y|^2 from B - 2<a,b>
  dot_product,    // z = -<x,y> from -<a,b>
  direct_root,    // z = sum (x-y)^2; input rounding enters through the root
  direct_linear,  // z = sum |x-y| or max |x-y|; input rounding adds
};

/// How a full value comes from its sum: factor * sum, or factor * sqrt(sum), never above cap.
struct ValueTraits {
  double factor = 1;  // 1 or 1/2
  double cap = std::numeric_limits<double>::infinity();
  bool root = false;
};

/// Below this dimension fp32 sums differences: the dot form saves nothing and cancels. Measured (docs/performance.md).
inline constexpr Index kDirectBelow = 16;

/// A metric, described. z is the value screens bound; the key orders neighbours; both grow with distance.
struct MetricTraits {
  Metric metric;
  Element canonical;             // the sum that defines it
  bool unit_rows;                // rows enter divided by their norm (cosine)
  bool nearest_image = false;    // the least of the sum over the images of a cell (periodic); MetricSpec::cell says which
  double (*key)(double sum);     // canonical sum -> key
  double (*z_of_key)(double key);  // the largest z that a pair with this key may have
  double z_cap;                  // pairs at or past this z all share one key (cosine clamps at 2)
  double (*report)(double key);  // key -> reported value
  double pad;                    // reported past the last candidate
  BoundForm direct;              // form of the direct fp32 screen, when it has one
  Element direct_element;
  bool has_direct;
  BoundForm dot;                 // form of the dot fp32 screen, when it has one
  bool has_dot;
  ValueTraits value = {};        // what a dump writes
  bool distributions = false;    // rows are distributions: sorted, ragged, weighted; their kernels are kernels::QuantileKernels
};

/// The traits of a metric; one file a metric defines them.
const MetricTraits& traits_of(Metric metric) noexcept;

}  // namespace tessera::metrics
