// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_PERFMKL_HPP
#define LUTRA_PERFMKL_HPP

#include <string>

namespace lutra::Perf {

/// The address of a function of MKL. The library is loaded at run time instead of linked, because it is also
/// a BLAS, which the other peers would use. It gets the number of host threads of Kokkos and, if that is more
/// than one, uses the OpenMP runtime of this program.
/// @throws std::runtime_error if there is no such function
void* mkl_function(const char* name);

template <class Function>
void find_mkl(Function*& function, const char* name) {
  function = reinterpret_cast<Function*>(mkl_function(name));
}

/// Version and threads.
std::string mkl_version();

}  // namespace lutra::Perf

#endif
