// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_ATOMICFILE_HPP
#define LUTRA_ATOMICFILE_HPP

#include <cstddef>
#include <string>
#include <string_view>

namespace lutra::Impl {

/// A file that appears complete or not at all: written under another name in the same folder and renamed at
/// the end. What is not a regular file (a pipe, /dev/null, "-" for standard output) is written directly.
class AtomicFile {
 public:
  /// @throws FileError where nothing can be written there
  explicit AtomicFile(const std::string& file);
  /// Removes what was written unless `commit` was called.
  ~AtomicFile();
  AtomicFile(const AtomicFile&) = delete;
  AtomicFile& operator=(const AtomicFile&) = delete;

  /// @throws FileError
  void write(std::string_view text) {
    if (m_buffer.size() + text.size() > buffer_bytes) flush();
    m_buffer += text;
  }
  /// Gives the file its name. @throws FileError, and then there is no file, or still the old one
  void commit();

 private:
  static constexpr std::size_t buffer_bytes = std::size_t{1} << 18;
  void open_temporary();
  void flush();
  [[noreturn]] void fail(const char* what) const;

  std::string m_file;       // as given by the caller
  std::string m_target;     // the same with symbolic links followed
  std::string m_temporary;  // empty where the target is written directly
  std::string m_buffer;     // not yet written
  int m_descriptor = -1;
};

}  // namespace lutra::Impl

#endif
