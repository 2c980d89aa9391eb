// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_ERROR_HPP
#define LUTRA_ERROR_HPP

#include <cstddef>
#include <cstdint>
#include <new>
#include <stdexcept>
#include <string>

namespace lutra {

/// Invalid input from the caller. The message names the argument and, if applicable, row and column, 0-based
/// as in the caller's arrays. Nothing has been changed when it is thrown.
class InputError : public std::invalid_argument {
 public:
  explicit InputError(const std::string& what) : std::invalid_argument(what) {}
};

/// File that does not match its claimed format. Rows and columns in the message are those of the file,
/// 1-based.
class FileError : public InputError {
 public:
  /// @param line 1-based; 0 if the error has no line, for example a missing file
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

/// Calls in an invalid order, for example `solve` before `factorize`.
class CallOrderError : public std::logic_error {
 public:
  explicit CallOrderError(const std::string& what) : std::logic_error(what) {}
};

/// Memory, or the caller's budget, is insufficient. The message states the purpose, the size and the memory
/// left.
class OutOfMemoryError : public std::bad_alloc {
 public:
  OutOfMemoryError(std::string what, std::size_t needed_bytes)
      : m_what(std::move(what)), m_needed_bytes(needed_bytes) {}
  const char* what() const noexcept override { return m_what.c_str(); }
  /// Size of the refused allocation.
  std::size_t needed_bytes() const noexcept { return m_needed_bytes; }

 private:
  std::string m_what;
  std::size_t m_needed_bytes;
};

/// Device work abandoned after its time limit; the message names where. Results of that call are NaN.
/// Indicates a defect of the library or of the machine.
class TimeoutError : public std::runtime_error {
 public:
  explicit TimeoutError(const std::string& what) : std::runtime_error(what) {}
};

}  // namespace lutra

#endif
