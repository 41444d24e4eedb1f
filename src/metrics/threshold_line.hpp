// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace tessera::metrics {

/// A threshold as a line in a score: when enough pairs score at most s, no pair past slope * s + offset is needed, the two operations rounded to
/// float32. From cap on nothing may be dismissed.
struct ThresholdLine {
  float slope = 1;
  float offset = 0;
  float cap = 0;
};

}  // namespace tessera::metrics
