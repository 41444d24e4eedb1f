// SPDX-License-Identifier: Apache-2.0
// Here: how --help is laid out. Not here: what it says (each command's file).
#pragma once

#include <memory>
#include <string>

namespace CLI {
class FormatterBase;
}

namespace tessera::cli {

/// Lays out help: descriptions wrapped, groups a blank line apart, a command's first line only in the list of commands.
std::shared_ptr<CLI::FormatterBase> help_formatter();

/// Breaks text at blanks into lines of at most `width` columns.
std::string wrap(const std::string& text, std::size_t width);

}  // namespace tessera::cli
