// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Lutra_PerfMkl.hpp"

#include <dlfcn.h>
#include <mkl_service.h>

#include <Kokkos_Core.hpp>
#include <stdexcept>

namespace lutra::Perf {
namespace {

void* find(void* library, const char* name) {
  void* const function = dlsym(library, name);
  if (function == nullptr) throw std::runtime_error(std::string(LUTRA_PERF_MKL " has no ") + name);
  return function;
}

void* open_mkl() {
  void* const library = dlopen(LUTRA_PERF_MKL, RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) throw std::runtime_error(dlerror());
  const int threads = Kokkos::DefaultHostExecutionSpace().concurrency();
  reinterpret_cast<decltype(&MKL_Set_Interface_Layer)>(find(library, "MKL_Set_Interface_Layer"))(
      MKL_INTERFACE_LP64);
  reinterpret_cast<decltype(&MKL_Set_Threading_Layer)>(find(library, "MKL_Set_Threading_Layer"))(
      threads > 1 ? MKL_THREADING_GNU : MKL_THREADING_SEQUENTIAL);
  reinterpret_cast<decltype(&MKL_Set_Num_Threads)>(find(library, "MKL_Set_Num_Threads"))(threads);
  return library;
}

}  // namespace

void* mkl_function(const char* name) {
  static void* const library = open_mkl();
  return find(library, name);
}

std::string mkl_version() {
  decltype(MKL_Get_Version)* get_version = nullptr;
  decltype(MKL_Get_Max_Threads)* get_max_threads = nullptr;
  find_mkl(get_version, "MKL_Get_Version");
  find_mkl(get_max_threads, "MKL_Get_Max_Threads");
  MKLVersion version{};
  get_version(&version);
  return std::to_string(version.MajorVersion) + "." + std::to_string(version.MinorVersion) + "." +
         std::to_string(version.UpdateVersion) + ", " + std::to_string(get_max_threads()) + " threads";
}

}  // namespace lutra::Perf
