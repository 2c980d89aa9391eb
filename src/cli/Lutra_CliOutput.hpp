// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_CLIOUTPUT_HPP
#define LUTRA_CLIOUTPUT_HPP

#include <string>
#include <string_view>

namespace lutra::Cli {

/// Writes text to standard output.
/// @throws FileError where it cannot be written; a closed pipe is not an error, and the rest is dropped
void write_output(std::string_view text);

/// One line on standard error, "lutra: " ahead of it.
void print_error(std::string_view message);

/// The current stage of long work, on standard error where that is a terminal.
class Progress {
 public:
  explicit Progress(bool wanted);
  ~Progress() { clear(); }
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  void show(const std::string& what);
  void clear();

 private:
  bool m_active;
  bool m_shown = false;
};

}  // namespace lutra::Cli

#endif
