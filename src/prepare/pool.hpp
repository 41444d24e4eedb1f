// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "prepare/row_reader.hpp"

namespace tessera::prepare {

/// Mean of the rows that count in every batch: [batches, d], summed in double in ascending order. lengths empty: all rows.
std::vector<double> mean_rows(const RowReader& reader, Index batches, const std::vector<Index>& lengths);

}  // namespace tessera::prepare
