// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_CLIOUTPUT_HPP
#define LUTRA_CLIOUTPUT_HPP

#include <string>
#include <string_view>

namespace lutra::Cli {

/// Writes text to standard output.
/// @throws FileError if it cannot be written. A closed pipe is not an error; the remaining text is dropped.
void write_output(std::string_view text);

/// The line that print_error prints: without control bytes, which names of files may have, and shortened to
/// about 4,000 bytes.
std::string error_line(std::string_view message);

/// Prints one line on standard error, with prefix "lutra: ".
void print_error(std::string_view message);

/// Shows the current stage of long work on standard error if that is a terminal.
class Progress {
 public:
  explicit Progress(bool wanted);
  ~Progress() { clear(); }
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  bool is_active() const { return m_active; }
  void show(const std::string& what);
  /// Shows a bar for work that has taken a second.
  /// @param share of the work that is done, in [0, 1]; 0: not known
  void show(std::string_view what, double share, double seconds);
  void clear();

 private:
  bool m_active;
  bool m_shown = false;
};

}  // namespace lutra::Cli

#endif
