// SPDX-License-Identifier: Apache-2.0
// Here: how --help is laid out. Not here: what it says (each command's file).
#pragma once

#include <CLI/CLI.hpp>

#include <string>

namespace tessera::cli {

/// Lays out help: descriptions wrapped, groups a blank line apart, a command's first line only in the list of commands.
class HelpFormatter : public CLI::Formatter {
 public:
  HelpFormatter();
  std::string make_help(const CLI::App* app, std::string name, CLI::AppFormatMode mode) const override;
  std::string make_subcommand(const CLI::App* sub) const override;
  std::string make_option_desc(const CLI::Option* option) const override;

 private:
  std::string groups_of(const CLI::App& app) const;
};

/// Breaks text at blanks into lines of at most `width` columns.
std::string wrap(const std::string& text, std::size_t width);

}  // namespace tessera::cli
