// SPDX-License-Identifier: Apache-2.0
// Here: the list of commands. A new one is its file, its line here and its line in main.cpp.
#pragma once

#include <functional>
#include <vector>

#include "interrupts.hpp"

namespace CLI {
class App;
}

namespace tessera::cli {

/// A command as main() sees it: registered flags, and what to run once they are parsed.
struct Command {
  CLI::App* app = nullptr;
  std::function<void(Interrupts&)> run;  ///< throws tessera::Error; returning means exit status 0
  std::vector<Command> commands{};        ///< of a group such as `ann`: the one that was parsed runs instead
};

Command add_topk(CLI::App& root);
Command add_graph(CLI::App& root);
Command add_info(CLI::App& root);
Command add_recall(CLI::App& root);
Command add_ann(CLI::App& root);
Command add_convert(CLI::App& root);
Command add_dump(CLI::App& root);
Command add_bench(CLI::App& root);

}  // namespace tessera::cli
