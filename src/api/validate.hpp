// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "tessera/distances.hpp"
#include "tessera/options.hpp"
#include "tessera/rows.hpp"

namespace tessera::api {

/// Checks shapes and options at the door; everything behind it trusts them. Data are checked while they are prepared.
/// throws   Error{invalid_argument, unsupported}.
void validate_base(const RowSet& base, const KnnOptions& options);
void validate_search(const RowSet& queries, const RowSet& base, Index k, const KnnOptions& options);
/// As above, for a full matrix.
void validate_matrix(const RowSet& x, const RowSet& y, const DistanceOptions& options);
/// A prepared base is bound to the metric and policies it was prepared with.
void validate_same_preparation(const KnnOptions& prepared, const KnnOptions& search);

}  // namespace tessera::api
