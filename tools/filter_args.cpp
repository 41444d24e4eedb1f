// SPDX-License-Identifier: Apache-2.0
#include "filter_args.hpp"

#include <cmath>
#include <vector>

#include "decode.hpp"
#include "fail.hpp"
#include "mapped_inputs.hpp"

namespace tessera::cli {
namespace {

bool within(const RowSet& rows, Index id) noexcept { return id >= rows.first_id && id < rows.first_id + rows.rows; }

std::vector<Index> ids_of_mask(const RowFile& file, const RowFile& base) {
  const RowSet& mask = file.rows();
  if (mask.cols != 1 || mask.rows != base.file_rows()) {
    fail(ErrorCode::malformed_input, "'{}' is {} x {} of {}: wanted a mask of {} entries, one for each row of '{}', or ids as wider integers", file.path(), mask.rows, mask.cols,
         name_of(mask.dtype), base.file_rows(), base.path());
  }
  std::vector<Index> ids;
  for (Index i = 0; i < mask.rows; ++i) {
    double value = 0;
    decode_row(mask, i, &value);
    if (value != 0 && value != 1) fail(ErrorCode::malformed_input, "'{}': entry {} is {}: wanted 0 or 1", file.path(), i, value);
    if (value == 1 && within(base.rows(), i)) ids.push_back(i);
  }
  return ids;
}

std::vector<Index> ids_of_list(const RowFile& file, const RowFile& base) {
  const RowSet& list = file.rows();
  std::vector<Index> ids;
  std::vector<double> row(static_cast<std::size_t>(list.cols));
  for (Index i = 0; i < list.rows; ++i) {
    decode_row(list, i, row.data());
    for (Index c = 0; c < list.cols; ++c) {
      const double value = row[static_cast<std::size_t>(c)];
      if (!(value >= 0 && value < static_cast<double>(base.file_rows()) && value == std::floor(value))) {
        fail(ErrorCode::malformed_input, "'{}': row {}, column {} is {}: wanted a row number of '{}', 0 to {}", file.path(), i, c, value, base.path(), base.file_rows() - 1);
      }
      if (within(base.rows(), static_cast<Index>(value))) ids.push_back(static_cast<Index>(value));
    }
  }
  return ids;
}

}  // namespace

void add_filter_options(Flags& flags, FilterArgs& args) {
  flags.value("--allow FILE", args.allow, kGroupSearch,
              "Only these base rows are returned: ids (row numbers of the base's file), or a mask of 0 and 1, 8 bits each (numpy bool, uint8)");
  flags.value("--deny FILE", args.deny, kGroupSearch, "These base rows are never returned: ids or a mask, as for --allow");
}

void check_filter(const FilterArgs& args) {
  if (!args.allow.empty() && !args.deny.empty()) fail(ErrorCode::invalid_argument, "--allow and --deny: wanted one of them");
}

RowFilter read_filter(const FilterArgs& args, const RowFile& base) {
  if (args.allow.empty() && args.deny.empty()) return {};
  const RowFile file = open_rows(args.allow.empty() ? args.deny : args.allow, {});
  const bool mask = size_of(file.rows().dtype) == 1;
  return {.kind = args.allow.empty() ? RowFilter::Kind::deny : RowFilter::Kind::allow, .ids = mask ? ids_of_mask(file, base) : ids_of_list(file, base)};
}

}  // namespace tessera::cli
