// SPDX-License-Identifier: Apache-2.0
#include "flags.hpp"

#include <CLI/CLI.hpp>

#include <string_view>

namespace tessera::cli {
namespace {

CLI::Option* add_value(CLI::App& app, std::string_view spelling, std::string& out, const char* group,
                       const std::string& help) {
  const auto blank = spelling.find(' ');
  return app.add_option(std::string(spelling.substr(0, blank)), out, help)
      ->type_name(std::string(spelling.substr(blank + 1)))
      ->check([](const std::string& value) { return value.empty() ? std::string("an empty value (an unset variable?); wanted one, or no such option") : std::string(); })
      ->group(group);
}

}  // namespace

Flags::Flags(CLI::App& root, const char* name, const char* description, const char* footer)
    : app_(root.add_subcommand(name, description)) {
  app_->footer(footer);
  app_->get_help_ptr()->group(kGroupOther);
}

void Flags::value(const char* spelling, std::string& out, const char* group, const std::string& help) {
  add_value(*app_, spelling, out, group, help);
}

void Flags::values(const char* spelling, std::vector<std::string>& out, const char* group, const std::string& help) {
  const std::string_view text = spelling;
  const auto blank = text.find(' ');
  app_->add_option(std::string(text.substr(0, blank)), out, help)
      ->type_name(std::string(text.substr(blank + 1)))
      ->allow_extra_args(false)
      ->group(group);
}

void Flags::require_command() { app_->require_subcommand(1); }

void Flags::required(const char* spelling, std::string& out, const char* group, const std::string& help) {
  add_value(*app_, spelling, out, group, help)->required();
}

void Flags::toggle(const char* spelling, bool& out, const char* group, const std::string& help) {
  app_->add_flag(spelling, out, help)->group(group);
}

void Flags::positional(const char* name, std::string& out, const std::string& help) {
  app_->add_option(name, out, help);
}

void Flags::required_positional(const char* name, std::string& out, const std::string& help) {
  app_->add_option(name, out, help)->required();
}

}  // namespace tessera::cli
