// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_LINEREADER_HPP
#define LUTRA_LINEREADER_HPP

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "Lutra_ByteSource.hpp"

namespace lutra::Impl {

/// Lines of a text file, plain or compressed, without their ends (LF or CR LF).
class LineReader {
 public:
  /// Longest line accepted, in bytes; Matrix Market allows 1024.
  static constexpr std::size_t longest_line = std::size_t{1} << 20;

  /// @param file a path, or "-" for standard input
  /// @throws FileError if it cannot be opened
  explicit LineReader(const std::string& file);

  /// Reads the next line, valid until the next call. @returns false at the end of the file
  /// @throws FileError if the file cannot be read or decompressed, or the line is too long
  bool next(std::string_view& line) {
    const char* start = m_buffer.data() + m_begin;
    const void* newline = m_begin < m_end ? find_newline(start, m_end - m_begin) : nullptr;
    if (newline == nullptr) return next_after_refill(line);
    take(line, static_cast<std::size_t>(static_cast<const char*>(newline) - start), 1);
    return true;
  }

  /// 1-based number of the last line returned; 0 before the first.
  std::int64_t line_number() const noexcept { return m_line; }
  /// Name of the file in messages.
  const std::string& name() const noexcept { return m_name; }
  /// Size of the file in bytes; known for plain files.
  std::optional<std::int64_t> total_bytes() const { return m_source->total_bytes(); }

  /// Throws FileError for the last line returned.
  [[noreturn]] void fail(const std::string& what) const;
  /// Throws FileError for a given line; 0: no line.
  [[noreturn]] void fail_at(std::int64_t line, const std::string& what) const;

 private:
  static const void* find_newline(const char* start, std::size_t count);
  bool next_after_refill(std::string_view& line);
  bool refill();

  // Sets `line` to the `length` bytes at m_begin and advances past them and their `end_bytes` line-end bytes.
  void take(std::string_view& line, std::size_t length, std::size_t end_bytes) {
    line = std::string_view(m_buffer.data() + m_begin, length);
    if (!line.empty() && line.back() == '\r') line.remove_suffix(1);
    m_begin += length + end_bytes;
    ++m_line;
  }

  std::string m_name;
  std::unique_ptr<ByteSource> m_source;
  std::vector<char> m_buffer;  // bytes m_begin … m_end − 1 are read but not yet returned
  std::size_t m_begin = 0, m_end = 0;
  std::int64_t m_line = 0;
};

}  // namespace lutra::Impl

#endif
