// SPDX-License-Identifier: Apache-2.0
#include "api/validate.hpp"

#include "support/fail.hpp"

namespace tessera::api {
namespace {

using support::fail;

void validate_rows(const RowSet& rows, const char* what) {
  if (rows.rows < 0 || rows.cols < 0) fail(ErrorCode::invalid_argument, "{}: shape [{}, {}], wanted no negative size", what, rows.rows, rows.cols);
  if (rows.cols == 0) fail(ErrorCode::invalid_argument, "{}: 0 columns, wanted at least 1", what);
  if (rows.data == nullptr && rows.rows > 0) fail(ErrorCode::invalid_argument, "{}: no data behind {} rows", what, rows.rows);
}

}  // namespace

void validate_base(const RowSet& base, const KnnOptions& options) {
  validate_rows(base, "base");
  if (options.tile < 0) fail(ErrorCode::invalid_argument, "tile is {}: wanted 0 (chosen for you) or a number of base rows", options.tile);
  if (options.threads < 0) fail(ErrorCode::invalid_argument, "threads is {}: wanted 0 (all usable cores) or more", options.threads);
}

void validate_search(const RowSet& queries, const RowSet& base, Index k, const KnnOptions& options) {
  validate_rows(queries, "queries");
  if (k < 1) fail(ErrorCode::invalid_argument, "k is {}: wanted at least 1", k);
  if (queries.cols != base.cols) {
    fail(ErrorCode::invalid_argument, "queries have {} columns, the base has {}: wanted the same dimension", queries.cols, base.cols);
  }
  if (options.threads < 0) fail(ErrorCode::invalid_argument, "threads is {}: wanted 0 (all usable cores) or more", options.threads);
}

void validate_same_preparation(const KnnOptions& prepared, const KnnOptions& search) {
  if (search.metric.metric != prepared.metric.metric) {
    fail(ErrorCode::invalid_argument, "the base was prepared for {}, the search asks for {}: prepare it again", name_of(prepared.metric.metric),
         name_of(search.metric.metric));
  }
  if (search.nan != prepared.nan) fail(ErrorCode::invalid_argument, "the base was prepared under another policy for non-finite rows: prepare it again");
}

}  // namespace tessera::api
