// SPDX-License-Identifier: Apache-2.0
// Here: neighbours among all images of the base rows: the base is laid out with every image that may matter, and searched like any other.
// Not here: the search (session.hpp).
#pragma once

#include "tessera/options.hpp"
#include "tessera/result.hpp"

namespace tessera::engine {

/// The k nearest images, ascending by (key, id, shift); under SelfMode::exclude only the query itself at shift 0 is left out.
///
/// cost     a search of nearest images for a radius, then one over the rows and their images within that radius of the queries.
/// throws   what search_streaming() throws; Error{out_of_memory} when the images do not fit the budget.
Neighbours search_all_images(const RowSet& queries, const RowSet& base, Index k, const KnnOptions& options);

}  // namespace tessera::engine
