// SPDX-License-Identifier: Apache-2.0
#include "engine/periodic_lists.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "prepare/row_reader.hpp"
#include "support/aligned_buffer.hpp"
#include "support/fail.hpp"

namespace tessera::engine {
namespace {

constexpr Index kRowsPerTask = 256;
constexpr double kLargestShift = 0x1p31 - 1;

void count_far(Neighbours& lists) {
  const auto k = static_cast<std::size_t>(lists.k);
  for (std::size_t first = 0; first < lists.ids.size(); first += k) {
    bool far = false;
    for (std::size_t s = first; s < first + k && lists.ids[s] >= 0; ++s) {
      const double distance = lists.distances64.empty() ? static_cast<double>(lists.distances[s]) : lists.distances64[s];
      far = far || distance >= lists.report.half_cell;
    }
    lists.report.beyond_half_cell += far ? 1 : 0;
  }
}

void find_shifts(Neighbours& lists, const RowSet& queries, const RowSet& base, const metrics::Lattice& lattice, const kernels::CpuKernels& kernels,
                 core::Executor& executor) {
  lists.shifts.assign(lists.ids.size() * 3, 0);
  executor.run((lists.rows + kRowsPerTask - 1) / kRowsPerTask, [&](Index task, int) {
    const prepare::RowReader x(kernels, queries, false);
    const prepare::RowReader y(kernels, base, false);
    support::AlignedBuffer<double> query(static_cast<std::size_t>(x.padded()));
    support::AlignedBuffer<double> row(static_cast<std::size_t>(y.padded()));
    for (Index q = task * kRowsPerTask; q < std::min(lists.rows, (task + 1) * kRowsPerTask); ++q) {
      const auto first = static_cast<std::size_t>(q * lists.k);
      if (lists.k == 0 || lists.ids[first] < 0) continue;  // nothing but padding; the query may not even be finite
      x.read(q, query.data());
      for (std::size_t s = first; s < first + static_cast<std::size_t>(lists.k) && lists.ids[s] >= 0; ++s) {
        y.read(lists.ids[s] - base.first_id, row.data());
        const kernels::NearestImage image = kernels.nearest_image(lattice, query.data(), row.data());
        for (std::size_t a = 0; a < 3; ++a) {
          if (!(std::abs(image.shift[a]) <= kLargestShift)) {
            support::fail(ErrorCode::malformed_input, "queries: row {} lies {} cells away from base row {}, more than an int32 shift holds: wrap the coordinates first",
                          queries.first_id + q, image.shift[a], lists.ids[s]);
          }
          lists.shifts[3 * s + a] = static_cast<std::int32_t>(image.shift[a]);
        }
      }
    }
  });
}

}  // namespace

void complete_lists(Neighbours& lists, const RowSet& queries, const RowSet& base, const metrics::Lattice& lattice, bool shifts,
                    const kernels::CpuKernels& kernels, core::Executor& executor) {
  lists.report.half_cell = lattice.shortest / 2;
  count_far(lists);
  if (shifts) find_shifts(lists, queries, base, lattice, kernels, executor);
}

}  // namespace tessera::engine
