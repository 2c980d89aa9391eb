// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <filesystem>
#include <string>
#include <vector>

#include "Lutra_CliExit.hpp"
#include "Lutra_CliFlags.hpp"
#include "Lutra_CliOptions.hpp"
#include "Lutra_CliOutput.hpp"
#include "Lutra_Fuzz.hpp"

// Any lines as the words of a command line, which is parsed and checked, but not run: help, arguments, or an
// error of the input in one line that can be printed. In the working folder are files A.mtx and order.txt.

namespace {

using lutra::Cli::Arguments;
using lutra::Cli::ParsedArguments;
using lutra::Fuzz::require;

/// Makes file names of the input those of a scratch folder.
void enter_scratch_folder() {
  static const bool entered = [] {
    lutra::Fuzz::written("A.mtx", "%%MatrixMarket matrix coordinate real general\n1 1 1\n1 1 1\n");
    const std::filesystem::path file = lutra::Fuzz::written("order.txt", "1\n");
    std::filesystem::current_path(file.parent_path());
    return true;
  }();
  static_cast<void>(entered);
}

std::vector<std::string> words_of(std::string_view text) {
  std::vector<std::string> words{"lutra"};
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    words.emplace_back(text.substr(0, end));  // may hold a zero byte, where an argument ends
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return words;
}

void check_line(const std::string& message) {
  const std::string line = lutra::Cli::error_line(message);
  require(line.starts_with("lutra: ") && line.ends_with('\n'), "an error is a line");
  lutra::Fuzz::check_message(std::string_view(line).substr(0, line.size() - 1));
}

/// What ends the program without arguments: an answer or an error, never both.
void check_end(const ParsedArguments& parsed) {
  const bool answered = parsed.exit_status == lutra::Cli::exit_solved;
  require(answered || parsed.exit_status == lutra::Cli::exit_invalid_input, "an exit status of parsing");
  require(answered == parsed.error.empty() && answered == !parsed.output.empty(), "an answer or an error");
  if (!answered) check_line(parsed.error);
}

void check_arguments(const Arguments& arguments) {
  require(!arguments.files.empty(), "there is a file, if only an empty name");
  for (const auto& flag : lutra::Cli::flags())
    require(!arguments.text(flag.name).empty() || !arguments.is_given(flag.name), "a flag given has a value");
  const bool has_options =
      arguments.command == "solve" || arguments.command == "sequence" || arguments.command == "info";
  if (!has_options) return;
  try {
    const auto options = lutra::Cli::check_options(arguments);
    lutra::check_options(options.solver.lu_options());
  } catch (const lutra::InputError& error) {
    check_line(error.what());
  }
}

}  // namespace

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  enter_scratch_folder();
  const std::vector<std::string> words = words_of(lutra::Fuzz::Input(data, size).text());
  std::vector<const char*> argv;
  for (const std::string& word : words) argv.push_back(word.c_str());
  const auto argc = static_cast<int>(argv.size());
  argv.push_back(nullptr);
  const ParsedArguments parsed = lutra::Cli::parse_arguments(argc, argv.data());
  if (parsed.arguments)
    check_arguments(*parsed.arguments);
  else
    check_end(parsed);
  return 0;
}
