// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Lutra_AtomicFile.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <system_error>
#include <utility>

#include "Lutra_Error.hpp"

namespace lutra::Impl {
namespace {

// Global, because a signal handler takes no arguments. A name is listed from before its file is created until
// the file has been renamed; it belongs to the AtomicFile.
using UnfinishedNames = std::array<std::atomic<const char*>, 16>;

UnfinishedNames& unfinished() noexcept {
  static UnfinishedNames names{};
  return names;
}

// Adds a name to the list. @returns its slot, or −1 if the list is full
int list_unfinished(const char* name) noexcept {
  for (std::size_t slot = 0; slot < unfinished().size(); ++slot) {
    const char* none = nullptr;
    if (unfinished()[slot].compare_exchange_strong(none, name)) return static_cast<int>(slot);
  }
  return -1;
}

void unlist(int slot) noexcept {
  if (slot >= 0) unfinished()[static_cast<std::size_t>(slot)] = nullptr;
}

[[noreturn]] void refuse(const std::string& file, const std::string& what, int error) {
  throw FileError(file, 0, what + ": " + std::strerror(error));
}

// Leaves space in a file name for the suffix of open_temporary.
constexpr std::size_t longest_base = 200;

// Common prefix of temporary file names, in the folder of the target.
std::string temporary_base(const std::string& target) {
  const std::size_t name_at = target.find_last_of('/') + 1;  // 0 without a folder
  return target.substr(0, std::min(target.size(), name_at + longest_base));
}

}  // namespace

std::string followed(const std::string& file) {
  constexpr int most_links = 40;  // the limit of Linux
  if (file.empty()) refuse(file, "cannot be written", ENOENT);
  std::error_code ignored;
  std::filesystem::path target = std::filesystem::absolute(file, ignored);
  for (int links = 0;; ++links) {
    struct ::stat status {};
    if (::lstat(target.c_str(), &status) != 0) {
      if (errno != ENOENT) refuse(file, "cannot be written", errno);
      break;
    }
    if (!S_ISLNK(status.st_mode)) break;
    if (links == most_links) refuse(file, "cannot be written", ELOOP);
    std::error_code error;
    const std::filesystem::path next = std::filesystem::read_symlink(target, error);
    if (error) refuse(file, "cannot be written", error.value());
    target = next.is_absolute() ? next : target.parent_path() / next;
  }
  const std::filesystem::path canonical = std::filesystem::weakly_canonical(target, ignored);
  return ignored ? target.string() : canonical.string();
}

void remove_unfinished_files() noexcept {
  for (const auto& name : unfinished()) {
    const char* const file = name;
    if (file != nullptr) ::unlink(file);
  }
}

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
  m_target = followed(file);
  open_temporary();
  if (exists) ::fchmod(m_descriptor, status.st_mode & 07777);
}

AtomicFile::~AtomicFile() {
  if (m_descriptor >= 0 && m_descriptor != STDOUT_FILENO) ::close(m_descriptor);
  remove_temporary();
}

void AtomicFile::remove_temporary() noexcept {
  if (m_temporary.empty()) return;
  ::unlink(m_temporary.c_str());
  unlist(m_slot);
}

void AtomicFile::open_temporary() {
  for (int attempt = 0; attempt < 100; ++attempt) {
    m_temporary =
        temporary_base(m_target) + "." + std::to_string(::getpid()) + "." + std::to_string(attempt) + ".part";
    m_slot = list_unfinished(m_temporary.c_str());
    m_descriptor = ::open(m_temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (m_descriptor >= 0) return;
    const int error = errno;
    unlist(m_slot);
    if (error != EEXIST) refuse(m_file, "cannot be written", error);
  }
  refuse(m_file, "cannot be written", EEXIST);
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
  unlist(m_slot);
  m_temporary.clear();
}

void AtomicFile::fail(const char* what) const {
  throw FileError(m_file, 0, std::string(what) + ": " + std::strerror(errno));
}

}  // namespace lutra::Impl
