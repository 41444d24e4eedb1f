// SPDX-License-Identifier: Apache-2.0
// Here: registering a command and its flags. Not here: what the flags mean (each command's file).
//
// The face of CLI11 that commands see. CLI11 is headers only and takes tens of seconds to compile, so flags.cpp,
// help.cpp and main.cpp are the only files that include it.
#pragma once

#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace tessera::cli {

// Group titles of --help, in the order they appear.
inline constexpr const char* kGroupInput = "Input";
inline constexpr const char* kGroupSearch = "Search";
inline constexpr const char* kGroupOutput = "Output";
inline constexpr const char* kGroupSpeed = "Speed only — never the answer";
inline constexpr const char* kGroupOther = "Other";

/// The flags of one command. A flag is spelled as its help shows it: "-b,--base FILE". Whatever it is given lands in
/// the caller's variable, which must outlive the parsing.
class Flags {
 public:
  /// Adds command `name` to `root`. description: a first line for the list of commands, then more; footer: examples.
  Flags(CLI::App& root, const char* name, const char* description, const char* footer);

  void value(const char* spelling, std::string& out, const char* group, const std::string& help);
  /// May be given several times; each takes one value.
  void values(const char* spelling, std::vector<std::string>& out, const char* group, const std::string& help);
  void required(const char* spelling, std::string& out, const char* group, const std::string& help);
  void toggle(const char* spelling, bool& out, const char* group, const std::string& help);
  void positional(const char* name, std::string& out, const std::string& help);
  void required_positional(const char* name, std::string& out, const std::string& help);

  /// This command is a group: one of the commands added to app() must follow.
  void require_command();

  CLI::App* app() const noexcept { return app_; }

 private:
  CLI::App* app_;
};

}  // namespace tessera::cli
