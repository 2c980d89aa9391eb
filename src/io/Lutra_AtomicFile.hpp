// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_ATOMICFILE_HPP
#define LUTRA_ATOMICFILE_HPP

#include <cstddef>
#include <string>
#include <string_view>

namespace lutra::Impl {

/// Resolves symbolic links in the path of a file to be written; the target need not exist yet.
/// @throws FileError for a loop of links, a name that is too long, and any other error of the file system
std::string followed(const std::string& file);

/// Removes the temporary files of all uncommitted AtomicFiles of this process. Async-signal-safe.
void remove_unfinished_files() noexcept;

/// File that appears complete or not at all: written under a temporary name in the same folder and renamed at
/// the end. Anything but a regular file (a pipe, /dev/null, "-" for standard output) is written directly.
class AtomicFile {
 public:
  /// @throws FileError if the file cannot be written
  explicit AtomicFile(const std::string& file);
  /// Removes the temporary file unless `commit` was called.
  ~AtomicFile();
  AtomicFile(const AtomicFile&) = delete;
  AtomicFile& operator=(const AtomicFile&) = delete;

  /// @throws FileError
  void write(std::string_view text) {
    if (m_buffer.size() + text.size() > buffer_bytes) flush();
    m_buffer += text;
  }
  /// Renames the file to its final name. @throws FileError, leaving no file or the previous one
  void commit();

 private:
  /// 256 KiB: few system calls, and the buffer stays in cache.
  static constexpr std::size_t buffer_bytes = std::size_t{1} << 18;
  void open_temporary();
  void remove_temporary() noexcept;
  void flush();
  [[noreturn]] void fail(const char* what) const;

  std::string m_file;       // as given by the caller
  std::string m_target;     // m_file with symbolic links resolved
  std::string m_temporary;  // empty if the target is written directly, and after renaming
  std::string m_buffer;     // not yet written
  int m_descriptor = -1;
  int m_slot = -1;  // in the list of unfinished files; −1 if it was full
};

}  // namespace lutra::Impl

#endif
