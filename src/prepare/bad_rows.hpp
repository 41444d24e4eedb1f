// SPDX-License-Identifier: Apache-2.0
// Here: what to do about rows that are not finite, and how messages speak of them. Not here: finding them.
#pragma once

#include <string>
#include <string_view>

#include <fmt/format.h>

#include "tessera/options.hpp"
#include "tessera/rows.hpp"

namespace tessera::prepare {

struct BadRows {
  BadRows(NanPolicy policy_) : policy(policy_) {}  // NOLINT(google-explicit-constructor): most callers have nothing to add
  BadRows(NanPolicy policy_, std::string_view remedy_, Index per_batch_) : policy(policy_), remedy(remedy_), per_batch(per_batch_) {}

  NanPolicy policy;
  std::string_view remedy = "clean the data, or skip them with --nan skip";
  Index per_batch = 0;  // rows of a batch; 0: rows are not in batches

  std::string name(std::string_view kind, Index row) const {
    return per_batch > 0 ? fmt::format("batch {}, {} {}", row / per_batch, kind, row % per_batch) : fmt::format("{} {}", kind, row);
  }
};

}  // namespace tessera::prepare
