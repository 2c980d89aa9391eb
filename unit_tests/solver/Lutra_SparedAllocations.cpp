// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Functions within which no allocation may fail, whatever Lutra does.
//
// nvcc keeps the lambda of a kernel for host and device on the heap, and copies it in a constructor that must
// not throw: an exception ends the program. Kokkos takes one of ten slots for the scratch memory of teams
// before it allocates, and does not return it after an exception: without slots the next launch waits
// forever.
#include <Kokkos_Core.hpp>

#include <elf.h>
#include <fcntl.h>
#include <link.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <string_view>
#include <vector>

#include "Lutra_FailingAllocations.hpp"

namespace {

std::uintptr_t load_address() {
  std::uintptr_t address = 0;
  dl_iterate_phdr(
      [](dl_phdr_info* program, std::size_t, void* result) {  // the first one is the program
        *static_cast<std::uintptr_t*>(result) = program->dlpi_addr;
        return 1;
      },
      &address);
  return address;
}

bool is_copy(std::string_view name) {
  return name.starts_with("_ZN18__nv_hdl_wrapper_t") && name.ends_with("7do_copyEPv");
}

/// Addresses, in order, of such functions in an ELF file in memory.
std::vector<std::uintptr_t> copies_in(const char* file) {
  std::vector<std::uintptr_t> found;
  const auto* const header = reinterpret_cast<const Elf64_Ehdr*>(file);
  const auto* const sections = reinterpret_cast<const Elf64_Shdr*>(file + header->e_shoff);
  const std::uintptr_t base = load_address();
  for (int s = 0; s < header->e_shnum; ++s) {
    if (sections[s].sh_type != SHT_SYMTAB) continue;
    const auto* const symbols = reinterpret_cast<const Elf64_Sym*>(file + sections[s].sh_offset);
    const char* const names = file + sections[sections[s].sh_link].sh_offset;
    for (std::size_t k = 0; k < sections[s].sh_size / sizeof(Elf64_Sym); ++k)
      if (is_copy(names + symbols[k].st_name)) found.push_back(base + symbols[k].st_value);
  }
  std::ranges::sort(found);
  return found;
}

std::vector<std::uintptr_t> copies_of_this_program() {
  const int file = ::open("/proc/self/exe", O_RDONLY);
  struct stat status {};
  if (file < 0 || ::fstat(file, &status) != 0) return {};
  const auto size = static_cast<std::size_t>(status.st_size);
  void* const begin = ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, file, 0);
  ::close(file);
  if (begin == MAP_FAILED) return {};
  auto found = copies_in(static_cast<const char*>(begin));
  ::munmap(begin, size);
  return found;
}

const std::vector<std::uintptr_t> copies = copies_of_this_program();  // before allocations fail

/// The function that allocates scratch memory of teams.
std::uintptr_t scratch_of_teams() {
  const auto function = &Kokkos::Impl::CudaInternal::resize_team_scratch_space;
  return std::bit_cast<std::array<std::uintptr_t, 2>>(function)[0];  // then the offset of `this`
}
const std::uintptr_t scratch = scratch_of_teams();

}  // namespace

bool lutra::Test::Impl::is_spared(const void* function) noexcept {
  const auto address = reinterpret_cast<std::uintptr_t>(function);
  return address == scratch || std::ranges::binary_search(copies, address);
}
