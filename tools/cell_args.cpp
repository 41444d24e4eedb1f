// SPDX-License-Identifier: Apache-2.0
#include "cell_args.hpp"

#include <filesystem>
#include <fstream>
#include <limits>

#include "args.hpp"
#include "fail.hpp"

namespace tessera::cli {
namespace {

constexpr std::size_t kMostCellBytes = 4096;  // chosen: nine numbers and some air

Cell read_cell(const std::string& path) {
  std::ifstream file(path);
  std::string text(kMostCellBytes + 1, '\0');
  file.read(text.data(), static_cast<std::streamsize>(text.size()));
  if (!file && !file.eof()) fail(ErrorCode::io, "--cell '{}': cannot be read", path);
  text.resize(static_cast<std::size_t>(file.gcount()));
  if (text.size() > kMostCellBytes) fail(ErrorCode::malformed_input, "--cell '{}': wanted a short text of 3, 6 or 9 numbers", path);
  try {
    return parse_cell(text);
  } catch (const Error& error) {
    fail(ErrorCode::malformed_input, "--cell '{}': {}", path, error.what());
  }
}

}  // namespace

void add_cell_options(Flags& flags, CellArgs& args) {
  flags.value("--cell CELL", args.cell, kGroupSearch,
              "periodic: what repeats, as one string or a file: 3 edge lengths | a b c and the angles alpha beta gamma | 9 numbers, three row vectors. For "
              "points of one or two columns 1, 2 or 4 numbers. Default: the cell of the base file, where it has one");
  flags.value("--pbc TTF", args.pbc, kGroupSearch, "periodic: along which rows of the cell space repeats (default: all it has)");
  flags.value("--frame N", args.frame, kGroupInput, "Which frame of xyz, gro and pdb files, counted from 0 (default: the first)");
}

std::optional<Cell> cell_of(const CellArgs& args) {
  if (!args.pbc.empty()) parse_pbc(args.pbc);
  if (args.cell.empty()) return std::nullopt;
  std::error_code ignored;
  return std::filesystem::is_regular_file(args.cell, ignored) ? read_cell(args.cell) : parse_cell(args.cell);
}

Index frame_of(const CellArgs& args) {
  return args.frame.empty() ? 0 : parse_integer("--frame", args.frame, 0, std::numeric_limits<Index>::max() - 1);
}

void complete_cell(MetricSpec& spec, const CellArgs& args, const RowFile& base, const RowFile* other) {
  if (spec.metric != Metric::periodic) {
    if (!args.pbc.empty() || !args.cell.empty()) {
      fail(ErrorCode::invalid_argument, "{}: {} has no use for it; wanted together with -m periodic", args.cell.empty() ? "--pbc" : "--cell", name_of(spec.metric));
    }
    return;
  }
  if (!spec.cell) {
    spec.cell = base.cell();
    if (!spec.cell) fail(ErrorCode::invalid_argument, "-m periodic: '{}' names no cell; give it by --cell", base.path());
    if (other != nullptr && other->cell() && *other->cell() != *spec.cell) {
      fail(ErrorCode::malformed_input, "'{}' and '{}' have different cells: say by --cell which one is meant", base.path(), other->path());
    }
  }
  if (!args.pbc.empty()) spec.cell->pbc = parse_pbc(args.pbc);
}

}  // namespace tessera::cli
