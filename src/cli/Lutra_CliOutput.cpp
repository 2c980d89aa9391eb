// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Lutra_CliOutput.hpp"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>

#include "Lutra_Error.hpp"

namespace lutra::Cli {
namespace {

// Returns false, with errno set, once writing fails.
bool write_all(int descriptor, std::string_view text) {
  while (!text.empty()) {
    const ::ssize_t count = ::write(descriptor, text.data(), text.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return false;
    text.remove_prefix(static_cast<std::size_t>(count));
  }
  return true;
}

}  // namespace

void write_output(std::string_view text) {
  if (!write_all(STDOUT_FILENO, text) && errno != EPIPE) {
    throw FileError("standard output", 0, std::string("cannot be written: ") + std::strerror(errno));
  }
}

std::string error_line(std::string_view message) {
  constexpr std::size_t longest = 3900;
  const bool is_long = message.size() > longest;
  std::string line = "lutra: " + std::string(message.substr(0, longest)) + (is_long ? "…" : "");
  std::ranges::replace_if(
      line, [](unsigned char byte) { return byte < ' ' || byte == 0x7f; }, '?');
  return line + "\n";
}

void print_error(std::string_view message) {
  write_all(STDERR_FILENO, error_line(message));  // a failure here cannot be reported
}

Progress::Progress(bool wanted) : m_active(wanted && ::isatty(STDERR_FILENO) == 1) {}

void Progress::show(const std::string& what) {
  if (!m_active) return;
  write_all(STDERR_FILENO, "\r\033[K" + what + " …");
  m_shown = true;
}

void Progress::show(std::string_view what, double share, double seconds) {
  constexpr double shown_from = 1;
  constexpr int width = 30;
  if (!m_active || seconds < shown_from) return;
  std::array<char, 32> numbers{};
  std::snprintf(numbers.data(), numbers.size(), "%3.0f %%  %.1f s", 100 * share, seconds);
  const auto full = static_cast<std::size_t>(share * width);
  std::string line = "\r\033[K" + std::string(what) + " [" + std::string(full, '#');
  line += std::string(width - full, '.') + "] ";
  write_all(STDERR_FILENO, line + numbers.data());
  m_shown = true;
}

void Progress::clear() {
  if (m_shown) write_all(STDERR_FILENO, "\r\033[K");
  m_shown = false;
}

}  // namespace lutra::Cli
