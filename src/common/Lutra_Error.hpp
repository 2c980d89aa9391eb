// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_ERROR_HPP
#define LUTRA_ERROR_HPP

#include <cstddef>
#include <cstdint>
#include <new>
#include <stdexcept>
#include <string>

namespace lutra {

/// A mistake in what the caller handed over: the message names the argument and, where there is one, row and
/// column, counted from 0 as in the arrays handed over. Nothing has been changed when it is thrown.
class InputError : public std::invalid_argument {
 public:
  explicit InputError(const std::string& what) : std::invalid_argument(what) {}
};

/// A file that cannot be read as what it claims to be. Rows and columns in the message are the file's own,
/// counted from 1.
class FileError : public InputError {
 public:
  /// `line` counts from 1; 0 where the mistake is not at a line (a file that does not exist, say).
  FileError(const std::string& file, std::int64_t line, const std::string& what)
      : InputError(file + (line > 0 ? std::string(":").append(std::to_string(line)) : std::string()) + ": " +
                   what),
        m_file(file),
        m_line(line) {}
  const std::string& file() const noexcept { return m_file; }
  std::int64_t line() const noexcept { return m_line; }

 private:
  std::string m_file;
  std::int64_t m_line;
};

/// Calls in an order that has no meaning: `solve` before `factorize`, say.
class CallOrderError : public std::logic_error {
 public:
  explicit CallOrderError(const std::string& what) : std::logic_error(what) {}
};

/// Memory, or the budget the caller set, does not suffice. The message says for what, how much and what was
/// left.
class OutOfMemoryError : public std::bad_alloc {
 public:
  OutOfMemoryError(std::string what, std::size_t needed_bytes)
      : m_what(std::move(what)), m_needed_bytes(needed_bytes) {}
  const char* what() const noexcept override { return m_what.c_str(); }
  /// Bytes the refused allocation asked for.
  std::size_t needed_bytes() const noexcept { return m_needed_bytes; }

 private:
  std::string m_what;
  std::size_t m_needed_bytes;
};

/// Work on the device that waited longer than it was allowed to and was given up; the message names where.
/// Results of that call are NaN. It is a defect of the library, or of the machine.
class TimeoutError : public std::runtime_error {
 public:
  explicit TimeoutError(const std::string& what) : std::runtime_error(what) {}
};

}  // namespace lutra

#endif
