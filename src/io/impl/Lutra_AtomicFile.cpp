// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Lutra_AtomicFile.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <utility>

#include "Lutra_Error.hpp"

namespace lutra::Impl {

AtomicFile::AtomicFile(const std::string& file)
    : m_file(file == "-" ? "standard output" : file), m_target(file) {
  m_buffer.reserve(buffer_bytes);
  if (file == "-") {
    m_descriptor = STDOUT_FILENO;
    return;
  }
  struct ::stat status {};
  const bool exists = ::stat(file.c_str(), &status) == 0;
  if (exists && !S_ISREG(status.st_mode)) {
    m_descriptor = ::open(file.c_str(), O_WRONLY | O_CLOEXEC);
    if (m_descriptor < 0) fail("cannot be opened for writing");
    return;
  }
  std::error_code ignored;
  const std::filesystem::path target = std::filesystem::weakly_canonical(file, ignored);
  if (!ignored) m_target = target.string();
  open_temporary();
  if (exists) ::fchmod(m_descriptor, status.st_mode & 07777);
}

AtomicFile::~AtomicFile() {
  if (m_descriptor >= 0 && m_descriptor != STDOUT_FILENO) ::close(m_descriptor);
  if (!m_temporary.empty()) ::unlink(m_temporary.c_str());
}

void AtomicFile::open_temporary() {
  for (int attempt = 0; attempt < 100; ++attempt) {
    const std::string name =
        m_target + "." + std::to_string(::getpid()) + "." + std::to_string(attempt) + ".part";
    m_descriptor = ::open(name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (m_descriptor >= 0) {
      m_temporary = name;
      return;
    }
    if (errno != EEXIST) break;
  }
  fail("cannot be written");
}

void AtomicFile::flush() {
  std::string_view rest = m_buffer;
  while (!rest.empty()) {
    const ::ssize_t count = ::write(m_descriptor, rest.data(), rest.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) fail("cannot be written");
    rest.remove_prefix(static_cast<std::size_t>(count));
  }
  m_buffer.clear();
}

void AtomicFile::commit() {
  flush();
  if (m_temporary.empty()) return;
  if (::fsync(m_descriptor) != 0) fail("cannot be written");
  const int descriptor = std::exchange(m_descriptor, -1);
  if (::close(descriptor) != 0) fail("cannot be written");
  if (std::rename(m_temporary.c_str(), m_target.c_str()) != 0) fail("cannot be given its name");
  m_temporary.clear();
}

void AtomicFile::fail(const char* what) const {
  throw FileError(m_file, 0, std::string(what) + ": " + std::strerror(errno));
}

}  // namespace lutra::Impl
