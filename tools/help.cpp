// SPDX-License-Identifier: Apache-2.0
#include "help.hpp"

#include <CLI/CLI.hpp>

#include <sstream>
#include <utility>

#include "flags.hpp"

namespace tessera::cli {
namespace {

constexpr std::size_t kFlagColumns = 28;   // "  -b,--base FILE REQUIRED  " fits
constexpr std::size_t kHelpColumns = 100;  // chosen: most terminals today; a line of an example needs about 90

class HelpFormatter : public CLI::Formatter {
 public:
  HelpFormatter();
  std::string make_help(const CLI::App* app, std::string name, CLI::AppFormatMode mode) const override;
  std::string make_subcommand(const CLI::App* sub) const override;
  std::string make_option_desc(const CLI::Option* option) const override;

 private:
  std::string groups_of(const CLI::App& app) const;
};

HelpFormatter::HelpFormatter() { column_width(kFlagColumns); }

std::string HelpFormatter::make_help(const CLI::App* app, std::string name, CLI::AppFormatMode mode) const {
  return make_description(app) + make_usage(app, std::move(name)) + make_positionals(app) + groups_of(*app) +
         make_subcommands(app, mode) + "\n" + make_footer(app);
}

std::string HelpFormatter::groups_of(const CLI::App& app) const {
  std::string text;
  std::string other;  // --help itself: last
  for (const std::string& group : app.get_groups()) {
    const auto options = app.get_options([&group](const CLI::Option* option) {
      return option->get_group() == group && option->nonpositional();
    });
    if (!options.empty()) (group == kGroupOther ? other : text) += make_group(group, false, options);
  }
  return text + other;
}

std::string HelpFormatter::make_subcommand(const CLI::App* sub) const {
  const std::string description = sub->get_description();
  std::stringstream out;
  CLI::detail::format_help(out, sub->get_name(), description.substr(0, description.find('\n')), kFlagColumns);
  return out.str();
}

std::string HelpFormatter::make_option_desc(const CLI::Option* option) const {
  return wrap(option->get_description(), kHelpColumns - kFlagColumns);
}

}  // namespace

std::shared_ptr<CLI::FormatterBase> help_formatter() { return std::make_shared<HelpFormatter>(); }

std::string wrap(const std::string& text, std::size_t width) {
  std::istringstream words(text);
  std::string wrapped;
  std::string line;
  for (std::string word; words >> word;) {
    if (!line.empty() && line.size() + 1 + word.size() > width) {
      wrapped += line + "\n";
      line.clear();
    }
    line += (line.empty() ? "" : " ") + word;
  }
  return wrapped + line;
}

}  // namespace tessera::cli
