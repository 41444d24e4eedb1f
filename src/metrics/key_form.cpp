// SPDX-License-Identifier: Apache-2.0
#include "metrics/key_form.hpp"

namespace tessera::metrics {

KeyForm key_form(const MetricTraits& traits) noexcept {
  if (traits.canonical == Element::product) return KeyForm::negated;
  return traits.unit_rows ? KeyForm::half_clamped : KeyForm::sum;
}

}  // namespace tessera::metrics
