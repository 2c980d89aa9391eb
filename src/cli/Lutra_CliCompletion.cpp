// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Lutra_CliChoose.hpp"
#include "Lutra_CliCommands.hpp"
#include "Lutra_CliExit.hpp"
#include "Lutra_CliOutput.hpp"
#include "Lutra_CliTable.hpp"

namespace lutra::Cli {
namespace {

std::string by_spaces(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : " ") + word;
  return text;
}

/// Whether an option also accepts a file name instead of one of its words.
bool takes_file(const CLI::Option& option) {
  return option.get_type_name().find("FILE") != std::string::npos;
}

/// Lines "COMMAND:--option) words='…' ;;" for options and commands that take one of a list of words.
std::string bash_values(const CommandTable& table) {
  std::string text;
  for (const CLI::App* command : table.commands()) {
    for (const CLI::Option* option : command->get_options()) {
      const auto& values = table.values(*option);
      if (values.empty() || option->get_lnames().empty()) continue;
      text += "    " + command->get_name() + ":--" + option->get_lnames().front() + ") words='" +
              by_spaces(values) + "'" + (takes_file(*option) ? " files=1" : "") + " ;;\n";
    }
  }
  return text;
}

/// Lines "COMMAND) …" with the options, and the words of a command whose first argument is one of a list.
std::string bash_options(const CommandTable& table) {
  std::string text;
  for (const CLI::App* command : table.commands()) {
    text +=
        "    " + command->get_name() + ") options='" + by_spaces(CommandTable::option_names(*command)) + "'";
    for (const CLI::Option* option : command->get_options())
      if (option->get_positional() && !table.values(*option).empty())
        text += " first='" + by_spaces(table.values(*option)) + "'";
    text += " ;;\n";
  }
  return text;
}

std::string bash_script(const CommandTable& table) {
  return R"(# Completion of lutra in bash, printed by: lutra completion bash
_lutra() {
  local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD - 1]} command=${COMP_WORDS[1]}
  local words='' options='' first='' files=''
  COMPREPLY=()
  if ((COMP_CWORD == 1)); then
    mapfile -t COMPREPLY < <(compgen -W ')" +
         by_spaces(table.command_names()) + R"( --help --version' -- "$word")
    return
  fi
  if [[ $word == = ]]; then
    word=''
  elif [[ $before == = ]]; then
    before=${COMP_WORDS[COMP_CWORD - 2]}
  fi
  case $command:$before in
)" + bash_values(table) +
         R"(  esac
  if [[ -n $words ]]; then
    mapfile -t COMPREPLY < <(compgen -W "$words" -- "$word"; [[ -n $files ]] && compgen -f -- "$word")
    return
  fi
  case $command in
)" + bash_options(table) +
         R"(  esac
  if [[ $word == -* ]]; then
    mapfile -t COMPREPLY < <(compgen -W "$options" -- "$word")
  elif [[ -n $first ]] && ((COMP_CWORD == 2)); then
    mapfile -t COMPREPLY < <(compgen -W "$first" -- "$word")
  else
    mapfile -t COMPREPLY < <(compgen -f -- "$word")
  fi
}
complete -o filenames -F _lutra lutra
)";
}

/// Quotes text for single quotes and for the brackets of an _arguments specification.
std::string zsh_quoted(const std::string& text) {
  std::string safe;
  for (const char c : text) {
    if (c == '\'') {
      safe += "'\\''";
    } else if (c == '[' || c == ']' || c == ':' || c == '\\') {
      safe += std::string("\\") + c;
    } else {
      safe += c;
    }
  }
  return safe;
}

/// One _arguments specification.
std::string zsh_option(const CommandTable& table, const CLI::Option& option) {
  const std::string& name = option.get_lnames().front();
  const auto& values = table.values(option);
  const std::string help = "[" + zsh_quoted(option.get_description()) + "]";
  if (option.get_items_expected_max() == 0) return "'--" + name + help + "'";
  const std::string what = zsh_quoted(option.get_type_name());
  if (!values.empty() && !takes_file(option))
    return "'--" + name + "=" + help + ":" + what + ":(" + by_spaces(values) + ")'";
  if (!values.empty())
    return "'--" + name + "=" + help + ":" + what + ":{compadd " + by_spaces(values) + "; _files}'";
  return "'--" + name + "=" + help + ":" + what + ":_files'";
}

std::string zsh_command(const CommandTable& table, const CLI::App& command) {
  std::string text = "    " + command.get_name() + ")\n      _arguments";
  std::string files = "'*:file:_files'";
  for (const CLI::Option* option : command.get_options()) {
    if (!option->get_lnames().empty()) {
      text += " \\\n        " + zsh_option(table, *option);
    } else if (!table.values(*option).empty()) {
      text += " \\\n        '1:" + zsh_quoted(option->get_name()) + ":(" + by_spaces(table.values(*option)) +
              ")'";
    }
  }
  return text + " \\\n        " + files + "\n      ;;\n";
}

std::string zsh_script(const CommandTable& table) {
  std::string text = R"(#compdef lutra
# Completion of lutra in zsh, printed by: lutra completion zsh
_lutra() {
  local -a commands
  commands=(
)";
  for (const CLI::App* command : table.commands())
    text += "    '" + command->get_name() + ":" + zsh_quoted(command->get_description()) + "'\n";
  text += R"(  )
  if ((CURRENT == 2)); then
    _describe command commands
    return
  fi
  local command=$words[2]
  shift words
  ((CURRENT -= 1))
  case $command in
)";
  for (const CLI::App* command : table.commands()) text += zsh_command(table, *command);
  return text + R"(  esac
}
compdef _lutra lutra
)";
}

}  // namespace

int run_completion(const Arguments& arguments) {
  Arguments unused;
  const CommandTable table(unused);
  if (arguments.kind != "bash" && arguments.kind != "zsh")
    refuse("completion", arguments.kind, {"bash", "zsh"});
  write_output(arguments.kind == "bash" ? bash_script(table) : zsh_script(table));
  return exit_solved;
}

}  // namespace lutra::Cli
