// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_CLITABLE_HPP
#define LUTRA_CLITABLE_HPP

#include <CLI/CLI.hpp>
#include <map>
#include <string>
#include <vector>

#include "Lutra_CliArguments.hpp"

namespace lutra::Cli {

/// Table of all commands and options, used for parsing, help, suggestions and completion.
class CommandTable {
 public:
  /// @param arguments receives the parsed values; must outlive the table
  explicit CommandTable(Arguments& arguments);
  CommandTable(const CommandTable&) = delete;
  CommandTable& operator=(const CommandTable&) = delete;

  CLI::App& app() { return m_app; }
  std::vector<const CLI::App*> commands() const;
  std::vector<std::string> command_names() const;
  /// Null for an unknown name.
  const CLI::App* command(const std::string& name) const;
  /// Option names of a command, such as "--nrhs".
  static std::vector<std::string> option_names(const CLI::App& command);
  /// Words that an option accepts; empty if it accepts any.
  const std::vector<std::string>& values(const CLI::Option& option) const;

 private:
  CLI::Option* choice(CLI::App& command, const std::string& name, std::string& value,
                      std::vector<std::string> values, const std::string& help, const std::string& group);
  CLI::Option* add_flag(CLI::App& command, const std::string& group, const std::string& name);
  void add_flags(CLI::App& command, const std::string& group, const std::vector<std::string>& names);
  void add_prediction(CLI::App& command);
  void add_choices(CLI::App& command);
  void add_krylov(CLI::App& command);
  void add_output(CLI::App& command);
  void add_solver_options(CLI::App& command);
  void add_solve();
  void add_sequence();
  void add_info();
  void add_order();
  void add_calibrate();
  void add_predict();
  void add_machine(CLI::App& predict);
  void add_generate();
  void add_version();
  void add_completion();

  Arguments& m_arguments;
  CLI::App m_app{"Sparse solvers, direct and iterative", "lutra"};
  std::map<const CLI::Option*, std::vector<std::string>> m_values;
};

}  // namespace lutra::Cli

#endif
