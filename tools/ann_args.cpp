// SPDX-License-Identifier: Apache-2.0

#include "ann.hpp"
#include "fail.hpp"
#include "numbers.hpp"

namespace tessera::cli {
namespace {

constexpr std::int64_t kMostThreads = 65'536;  // as for the other commands

double parse_value(const std::string& text, std::string_view number) {
  const auto value = read_number<double>(number);
  if (!value) {
    fail(ErrorCode::invalid_argument, "--set {}: '{}' is no number; wanted NAME=VALUE, e.g. nprobe=16", text, number);
  }
  return *value;
}

void parse_one(const std::string& text, SettingLists& lists) {
  std::string_view rest = text;
  bool named = false;
  while (!rest.empty()) {
    std::string_view token = rest.substr(0, rest.find(','));
    rest = token.size() < rest.size() ? rest.substr(token.size() + 1) : std::string_view{};
    const auto equals = token.find('=');
    if (equals != std::string_view::npos) {
      lists.emplace_back(std::string(token.substr(0, equals)), std::vector<double>{});
      token = token.substr(equals + 1);
      named = true;
    }
    if (!named || lists.back().first.empty()) {
      fail(ErrorCode::invalid_argument, "--set {}: wanted NAME=VALUE, e.g. nprobe=16", text);
    }
    lists.back().second.push_back(parse_value(text, token));
  }
}

}  // namespace

void add_ann_options(Flags& flags, AnnArgs& args) {
  flags.value("--in-format NAME", args.in_format, kGroupInput, "Format of the inputs, where the suffix doesn't tell");
  flags.toggle("--force", args.force, kGroupOutput, "Overwrite the output file");
  add_print_options(flags, args.print);
  flags.value("--threads N", args.threads, kGroupSpeed, "Threads of FAISS, its BLAS and the exact search (default: the cores the process may use)");
  flags.value("--memory SIZE", args.memory, kGroupSpeed, "Budget for copies of rows, e.g. 8G (default: half of what is free)");
}

int ann_threads(const AnnArgs& args) {
  return args.threads.empty() ? 0 : static_cast<int>(parse_integer("--threads", args.threads, 1, kMostThreads));
}

std::uint64_t ann_memory(const AnnArgs& args) { return args.memory.empty() ? 0 : parse_memory(args.memory); }

void check_has_ann() {
  if (!has_ann()) fail(ErrorCode::unsupported, "tessera ann: unsupported in this build, which has no FAISS (install libfaiss-dev and build again)");
}

SettingLists parse_settings(const std::vector<std::string>& texts) {
  SettingLists lists;
  for (const std::string& text : texts) {
    if (text.empty()) fail(ErrorCode::invalid_argument, "--set: wanted NAME=VALUE, e.g. nprobe=16");
    parse_one(text, lists);
  }
  return lists;
}

ReadOptions query_range(const AnnArgs& args, const std::string& range) {
  const RowRange rows = parse_row_range("--query-rows", range);
  return {.format = args.in_format, .first_row = rows.first, .last_row = rows.last, .role = RowRole::queries};
}

}  // namespace tessera::cli
