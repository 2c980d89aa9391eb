// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Lutra_CliArguments.hpp"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <string_view>

#include "Lutra_CliChoose.hpp"
#include "Lutra_CliExit.hpp"
#include "Lutra_CliSuggest.hpp"
#include "Lutra_CliTable.hpp"

namespace lutra::Cli {
namespace {

// Resolves `--json` with and without a file, which a general parser cannot distinguish; taking the matrix for
// the output file would destroy it. The next word is the file if it ends in .json; --json=FILE accepts any
// name.
std::vector<std::string> with_json_resolved(int argc, const char* const* argv) {
  std::vector<std::string> words;
  for (int k = 1; k < argc; ++k) {
    const std::string_view word = argv[k];
    if (word == "--") {
      words.insert(words.end(), argv + k, argv + argc);
      break;
    }
    if (word != "--json") {
      words.emplace_back(word);
    } else if (k + 1 < argc && std::string_view(argv[k + 1]).ends_with(".json")) {
      words.push_back("--json=" + std::string(argv[++k]));
    } else {
      words.emplace_back("--json=-");
    }
  }
  return words;
}

// Message about an unknown command or option name; empty if all are known.
std::string wrong_name(const CommandTable& table, const std::vector<std::string>& words) {
  if (words.empty() || words.front().starts_with('-')) return "";
  const std::vector<std::string> commands = table.command_names();
  const CLI::App* const command = table.command(words.front());
  if (command == nullptr)
    return "invalid command '" + words.front() + "'" + did_you_mean(words.front(), commands) +
           " (choose from " + joined(commands) + "); see lutra --help";
  const std::vector<std::string> options = CommandTable::option_names(*command);
  for (const std::string& word : words) {
    if (word == "--") break;
    const std::string name = word.substr(0, word.find('='));
    if (!name.starts_with("--") || std::find(options.begin(), options.end(), name) != options.end()) continue;
    return "invalid option " + name + did_you_mean(name, options) + "; see lutra " + words.front() +
           " --help";
  }
  return "";
}

ParsedArguments refused(const std::string& message) {
  return {std::nullopt, exit_invalid_input, "", message};
}
ParsedArguments answered(const std::string& output) {
  return {std::nullopt, exit_solved, output, ""};
}

/// A word that has no text where a value belongs, such as that of an unset variable, or empty. CLI11 would
/// skip it.
std::string empty_value(const std::vector<std::string>& words) {
  for (std::size_t i = 0; i < words.size(); ++i) {
    const std::string& word = words[i];
    if (word.empty()) return i > 0 && words[i - 1].starts_with("--") ? words[i - 1] : "the name of a file";
    if (word.starts_with("--") && word.size() > 3 && word.back() == '=')
      return word.substr(0, word.size() - 1);
  }
  return "";
}

}  // namespace

ParsedArguments parse_arguments(int argc, const char* const* argv) {
  Arguments arguments;
  CommandTable table(arguments);
  CLI::App& app = table.app();
  const std::string without_value = empty_value({argv + 1, argv + argc});
  if (!without_value.empty()) return refused(without_value + ": the value is empty");
  std::vector<std::string> words = with_json_resolved(argc, argv);
  const bool version = !words.empty() && words.front() == "version";
  if (version) std::replace(words.begin(), words.end(), std::string("--json=-"), std::string("--json"));
  const std::string wrong = wrong_name(table, words);
  if (!wrong.empty()) return refused(wrong);
  std::reverse(words.begin(), words.end());  // CLI11 takes the words of a vector in reverse
  try {
    app.parse(words);
  } catch (const CLI::CallForHelp&) {
    const auto chosen = app.get_subcommands();
    return answered(chosen.empty() ? app.help() : chosen.front()->help("lutra"));
  } catch (const CLI::CallForVersion& request) {
    return answered(std::string(request.what()) + "\n");
  } catch (const CLI::ParseError& error) {
    const auto chosen = app.get_subcommands();
    const std::string command = chosen.empty() ? "" : " " + chosen.front()->get_name();
    return refused(std::string(error.what()) + "; see lutra" + command + " --help");
  }
  arguments.command = app.get_subcommands().front()->get_name();
  if (arguments.files.empty()) arguments.files = {arguments.file};
  return {arguments, exit_solved, "", ""};
}

}  // namespace lutra::Cli
