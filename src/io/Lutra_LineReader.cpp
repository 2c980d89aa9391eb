// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Lutra_LineReader.hpp"

#include <cstring>

#include "Lutra_Error.hpp"

namespace lutra::Impl {

LineReader::LineReader(const std::string& file)
    : m_name(file == "-" ? "standard input" : file), m_buffer(longest_line) {
  try {
    m_source = open_source(file);
  } catch (const SourceError& error) {
    fail_at(0, error.what());
  }
}

const void* LineReader::find_newline(const char* start, std::size_t count) {
  return std::memchr(start, '\n', count);
}

bool LineReader::next_after_refill(std::string_view& line) {
  std::size_t searched = m_end - m_begin;  // bytes from m_begin already searched for a newline
  while (refill()) {
    const char* start = m_buffer.data() + m_begin;
    const void* newline = find_newline(start + searched, m_end - m_begin - searched);
    if (newline != nullptr) {
      take(line, static_cast<std::size_t>(static_cast<const char*>(newline) - start), 1);
      return true;
    }
    searched = m_end - m_begin;
  }
  if (searched == 0) return false;
  take(line, searched, 0);  // last line without a line end
  return true;
}

bool LineReader::refill() {
  std::memmove(m_buffer.data(), m_buffer.data() + m_begin, m_end - m_begin);
  m_end -= m_begin;
  m_begin = 0;
  if (m_end == m_buffer.size()) {
    fail_at(m_line + 1, "the line is longer than " + std::to_string(longest_line) + " bytes");
  }
  try {
    const std::size_t count = m_source->read(m_buffer.data() + m_end, m_buffer.size() - m_end);
    m_end += count;
    return count > 0;
  } catch (const SourceError& error) {
    fail_at(m_line == 0 ? 0 : m_line + 1, error.what());
  }
}

void LineReader::fail(const std::string& what) const {
  fail_at(m_line, what);
}

void LineReader::fail_at(std::int64_t line, const std::string& what) const {
  throw FileError(m_name, line, what);
}

}  // namespace lutra::Impl
