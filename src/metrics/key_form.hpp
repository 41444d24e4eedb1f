// SPDX-License-Identifier: Apache-2.0
// Here: how canonical sums, keys and the z that screens bound become one another, as values that a GPU can take. MetricTraits says the
// same by functions; tests hold both together. Not here: the metric's other sides (traits.hpp).
#pragma once

#include <cstdint>
#include <limits>

#include "metrics/bound.hpp"
#include "metrics/traits.hpp"

namespace tessera::metrics {

enum class KeyForm : std::uint8_t {
  sum,          // the canonical sum itself
  negated,      // 0.0 - sum, so that -0 never appears
  half_clamped  // min(2, sum / 2): cosine
};

KeyForm key_form(const MetricTraits& traits) noexcept;

TESSERA_HOST_DEVICE inline double key_of_sum(KeyForm form, double sum) noexcept {
  if (form == KeyForm::negated) return 0.0 - sum;
  if (form == KeyForm::sum) return sum;
  const double half = 0.5 * sum;  // exact
  return half < 2.0 ? half : 2.0;
}

/// The largest z, unscaled, that a pair with this key may have.
TESSERA_HOST_DEVICE inline double z_of_key(KeyForm form, double key) noexcept {
  if (form != KeyForm::half_clamped) return key;
  // Antiparallel rows may sum to a little over 4; the clamp makes them all tie at 2, whatever their z.
  return key < 2.0 ? 2.0 * key : static_cast<double>(bound_detail::kInfinity);
}

/// From keys to scaled z, upwards.
struct KeyScale {
  KeyForm form = KeyForm::sum;
  double z_scale = 1;
  float z_cap = bound_detail::kInfinity;  // pairs at or past it all share one key

  KeyScale() = default;
  KeyScale(const MetricTraits& traits, double scale) noexcept : form(key_form(traits)), z_scale(scale), z_cap(float_down(traits.z_cap * scale)) {}

  /// The key of a pair whose z is exactly this.
  TESSERA_HOST_DEVICE double key_of(float z) const noexcept {
    const double sum = static_cast<double>(z) / z_scale;  // z_scale is a power of two
    return key_of_sum(form, form == KeyForm::negated ? 0.0 - sum : 0.0 + sum);
  }
  /// A float not below any z that a pair with this key may have.
  TESSERA_HOST_DEVICE float z_above(double key) const noexcept { return float_up(z_of_key(form, key) * z_scale); }
  /// The largest z that shares a key with this one (z itself, mostly).
  TESSERA_HOST_DEVICE float widest(float z) const noexcept { return z >= z_cap ? bound_detail::kInfinity : z; }
};

}  // namespace tessera::metrics
