// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_PERFMKL_HPP
#define LUTRA_PERFMKL_HPP

#include <string>

namespace lutra::Perf {

/// The address of one of MKL's functions. The library is opened by itself, not linked with the program: it is
/// a BLAS as well, and would become that of the other peers. It works with as many threads as Kokkos has on
/// the host; with more than one, in the OpenMP runtime of this program.
/// @throws std::runtime_error where there is no such function
void* mkl_function(const char* name);

template <class Function>
void find_mkl(Function*& function, const char* name) {
  function = reinterpret_cast<Function*>(mkl_function(name));
}

/// Version and threads.
std::string mkl_version();

}  // namespace lutra::Perf

#endif
