// SPDX-License-Identifier: Apache-2.0
// The `tessera` command: parses, runs one command, maps what went wrong to an exit status. Everything a command does is
// in its own file; nothing below the tools/ room prints or exits.
#include <CLI/CLI.hpp>

#include <algorithm>
#include <cstdio>
#include <exception>
#include <new>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "commands.hpp"
#include "exit_codes.hpp"
#include "flags.hpp"
#include "help.hpp"
#include "suggest.hpp"
#include "tessera/error.hpp"
#include "tessera/info.hpp"

namespace tessera::cli {
namespace {

constexpr const char* kDescription =
    "Exact nearest neighbours: the answer of double-precision brute force over the data as\n"
    "stored, ties broken by the smaller id, with the same bits for every thread count and\n"
    "instruction set.\n";

constexpr const char* kFooter =
    "Examples:\n"
    "  tessera topk -b base.fbin --queries q.fbin -k 10 -m l2 -o nn.npz\n"
    "  tessera topk -b points.npy -k 10 -o nn.npz       the base against itself\n"
    "  tessera graph -b points.npy -k 15 -o graph.npz   its kNN graph, for SciPy and its kin\n"
    "  tessera recall --truth gt.ibin --run hnsw.npz -k 10\n"
    "  tessera dump -b points.npy -m cosine -o d.npy    every distance, into a file\n"
    "  tessera ann sweep -b base.fbin --queries q.fbin -k 10 --index HNSW32 -o sweep.json\n"
    "  tessera info base.fbin                           what a file holds\n"
    "  tessera convert base.fvecs base.npy              the same rows in another format\n"
    "  tessera bench                                    how fast this machine searches\n"
    "\n"
    "Exit status: 0 done; 1 can't open, I/O, memory, unsupported in this build; 2 usage;\n"
    "3 malformed or inconsistent input; 4 a gate was missed; 130 interrupted.\n"
    "`tessera COMMAND --help` explains each command.";

/// The command that was recognised, group by group; the root when none was.
const CLI::App& innermost(const CLI::App& app) {
  const auto parsed = app.get_subcommands();
  return parsed.empty() ? app : innermost(*parsed.front());
}

/// "tessera topk" or "tessera ann build" once a command was recognised, else "tessera".
std::string invocation(const CLI::App& root) {
  std::string text = root.get_name();
  for (auto parsed = root.get_subcommands(); !parsed.empty(); parsed = parsed.front()->get_subcommands()) {
    text += " " + parsed.front()->get_name();
  }
  return text;
}

std::vector<std::string> long_flags(const CLI::App& app) {
  std::vector<std::string> flags;
  for (const CLI::Option* option : app.get_options()) {
    for (const auto& name : option->get_lnames()) flags.push_back("--" + name);
  }
  return flags;
}

std::vector<std::string> command_names(const std::vector<Command>& commands) {
  std::vector<std::string> names;
  for (const Command& command : commands) names.push_back(command.app->get_name());
  return names;
}

/// What CLI11 found wrong, in a user's words.
std::string describe(const CLI::ParseError& error, const CLI::App& root, const std::vector<Command>& commands) {
  const CLI::App& app = innermost(root);
  const auto* group = &commands;
  for (auto parsed = root.get_subcommands(); !parsed.empty(); parsed = parsed.front()->get_subcommands()) {
    const auto found = std::find_if(group->begin(), group->end(), [&](const Command& c) { return c.app == parsed.front(); });
    group = &found->commands;
  }
  const auto extras = app.remaining();
  // A mistyped --base also leaves --base missing: the unknown word is what to point at.
  if (extras.empty()) return error.what();
  const std::string& word = extras.front();
  const bool flag = word.starts_with("-");
  const std::string name = word.substr(0, word.find('='));
  const bool command_wanted = !group->empty();
  std::string text = flag             ? fmt::format("no flag {}", name)
                     : command_wanted ? fmt::format("no command named '{}'", word)
                                      : fmt::format("'{}' is not expected here", word);
  const std::string guess = flag             ? closest_word(name, long_flags(app))
                            : command_wanted ? closest_word(word, command_names(*group))
                                             : "";
  if (!guess.empty()) text += fmt::format("; did you mean {}?", guess);
  return text;
}

int report(int status, std::string_view message) {
  fmt::print(stderr, "tessera: {}\n", message);
  return status;
}

int report_usage(const CLI::App& root, const std::string& message) {
  return report(kExitUsage, fmt::format("{}\nSee `{} --help`.", message, invocation(root)));
}

/// The command that was parsed, inside its group; null when there is none.
const Command* chosen_command(const std::vector<Command>& commands) {
  const auto chosen =
      std::find_if(commands.begin(), commands.end(), [](const Command& command) { return command.app->parsed(); });
  if (chosen == commands.end()) return nullptr;
  return chosen->commands.empty() ? &*chosen : chosen_command(chosen->commands);
}

int run(const CLI::App& root, const std::vector<Command>& commands) {
  const Command* chosen = chosen_command(commands);
  if (chosen == nullptr) return report_usage(root, "a command is needed");
  Interrupts interrupts;
  try {
    chosen->run(interrupts);
    if (std::fflush(stdout) != 0) return report(kExitRuntime, "could not write to standard output");
    return kExitDone;
  } catch (const GateMissed& missed) {
    std::fflush(stdout);
    return report(kExitGate, missed.what());
  } catch (const Error& error) {
    const int status = exit_code_of(error.code());
    if (status == kExitUsage) return report_usage(root, error.what());
    if (error.code() == ErrorCode::cancelled) return report(status, "interrupted");
    return report(status, error.what());
  } catch (const std::bad_alloc&) {
    return report(kExitRuntime, "out of memory; a smaller --memory or --base-rows may help");
  } catch (const std::exception& error) {
    return report(kExitRuntime, error.what());
  }
}

int parse_and_run(int argc, const char* const* argv) {
  CLI::App root{kDescription, "tessera"};
  root.footer(kFooter);
  root.formatter(help_formatter());
  root.get_help_ptr()->group(kGroupOther);
  root.set_version_flag("--version", "tessera " + version(), "Print the version and exit")->group(kGroupOther);
  const std::vector<Command> commands = {add_topk(root), add_graph(root), add_dump(root),    add_recall(root),
                                         add_ann(root),  add_info(root),  add_convert(root), add_bench(root)};
  root.require_subcommand(0, 1);
  try {
    root.parse(argc, argv);
  } catch (const CLI::Success& success) {  // --help, --version
    return root.exit(success);
  } catch (const CLI::ParseError& error) {
    return report_usage(root, describe(error, root, commands));
  }
  return run(root, commands);
}

}  // namespace
}  // namespace tessera::cli

int main(int argc, char** argv) {
  try {
    return tessera::cli::parse_and_run(argc, argv);
  } catch (const std::exception& error) {
    return tessera::cli::report(tessera::cli::kExitRuntime, error.what());
  }
}
