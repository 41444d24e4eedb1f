// SPDX-License-Identifier: Apache-2.0
// A test's hand: writes fixed neighbour lists, for make_and_check.py to read with numpy.
//   lists_write FILE float32|float64 int64|int32 ROWS K     id = 7·i - 1, distance = i / 8
#include <string>

#include "tessera/io.hpp"

int main(int argc, char** argv) {
  if (argc != 6) return 2;
  tessera::Neighbours lists;
  lists.rows = std::stoll(argv[4]);
  lists.k = std::stoll(argv[5]);
  for (std::int64_t i = 0; i < lists.rows * lists.k; ++i) {
    lists.ids.push_back(7 * i - 1);
    lists.distances64.push_back(static_cast<double>(i) / 8);
  }
  if (std::string(argv[2]) == "float32") {
    lists.distances.assign(lists.distances64.begin(), lists.distances64.end());
    lists.distances64.clear();
  }
  tessera::write_neighbours(argv[1], lists, {.format = "", .ids_int32 = std::string(argv[3]) == "int32"});
  return 0;
}
