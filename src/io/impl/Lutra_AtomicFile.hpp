// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_ATOMICFILE_HPP
#define LUTRA_ATOMICFILE_HPP

#include <cstddef>
#include <string>
#include <string_view>

namespace lutra::Impl {

/// The path at which a file would be written. Symbolic links are followed; the target need not exist yet.
/// @throws FileError for a loop of links, a name that is too long, and what else keeps the system from
/// looking
std::string followed(const std::string& file);

/// Removes what AtomicFiles of this process have not given its name yet. For handlers of signals: it does
/// nothing that one must not do.
void remove_unfinished_files() noexcept;

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
  void remove_temporary() noexcept;
  void flush();
  [[noreturn]] void fail(const char* what) const;

  std::string m_file;       // as given by the caller
  std::string m_target;     // the same with symbolic links followed
  std::string m_temporary;  // empty where the target is written directly, and where it has its name
  std::string m_buffer;     // not yet written
  int m_descriptor = -1;
  int m_slot = -1;  // of the list of unfinished files; none: it was full
};

}  // namespace lutra::Impl

#endif
