// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Lutra_UsableMemory.hpp"

#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <limits>

#include "Lutra_Error.hpp"

namespace lutra::Impl {
namespace {

constexpr std::uint64_t unknown = std::numeric_limits<std::uint64_t>::max();

// "MemAvailable:   123456 kB" in /proc/meminfo; physical memory without that file.
std::uint64_t system_bytes() {
  std::ifstream meminfo("/proc/meminfo");
  std::string key, unit;
  std::uint64_t kilobytes = 0;
  while (meminfo >> key >> kilobytes && std::getline(meminfo, unit)) {
    if (key == "MemAvailable:") return kilobytes * 1024;
  }
  const long pages = ::sysconf(_SC_PHYS_PAGES);
  const long page_bytes = ::sysconf(_SC_PAGESIZE);
  if (pages <= 0 || page_bytes <= 0) return unknown;
  return static_cast<std::uint64_t>(pages) * static_cast<std::uint64_t>(page_bytes);
}

// Limit of the control group as seen in a container; "max", or no file, means none.
std::uint64_t control_group_bytes() {
  std::uint64_t least = unknown;
  for (const char* file : {"/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"}) {
    std::ifstream limit(file);
    std::uint64_t bytes = 0;
    if (limit >> bytes) least = std::min(least, bytes);
  }
  return least;
}

// Rest of the process's address space limit (ulimit -v).
std::uint64_t address_space_bytes() {
  rlimit limit{};
  if (::getrlimit(RLIMIT_AS, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return unknown;
  std::ifstream statistics("/proc/self/statm");
  std::uint64_t pages = 0;  // pages of address space in use
  statistics >> pages;
  const long page_bytes = ::sysconf(_SC_PAGESIZE);
  const std::uint64_t used = page_bytes > 0 ? pages * static_cast<std::uint64_t>(page_bytes) : 0;
  const auto all = static_cast<std::uint64_t>(limit.rlim_cur);
  return all > used ? all - used : 0;
}

}  // namespace

std::uint64_t usable_memory_bytes() {
  return std::min({system_bytes(), control_group_bytes(), address_space_bytes()});
}

void require_usable_memory(const std::string& what, std::uint64_t bytes) {
  const std::uint64_t usable = usable_memory_bytes();
  if (bytes <= usable) return;
  throw OutOfMemoryError(what + " needs " + std::to_string(bytes) + " bytes of memory; " +
                             std::to_string(usable) + " are available",
                         static_cast<std::size_t>(bytes));
}

}  // namespace lutra::Impl
