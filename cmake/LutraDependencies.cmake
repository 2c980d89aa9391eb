# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# The packages Lutra is built on. Debian's (Trilinos') Kokkos Kernels exports KokkosKernels::all_libs, a standalone
# one Kokkos::kokkoskernels; Lutra_kokkoskernels_target holds the name of the one found.
find_package(Kokkos 4.5 REQUIRED CONFIG)
find_package(KokkosKernels 4.5 QUIET CONFIG)
if(NOT KokkosKernels_FOUND)
  find_package(KokkosKernels REQUIRED CONFIG)  # Trilinos' export carries Trilinos' version number
endif()
if(TARGET Kokkos::kokkoskernels)
  set(Lutra_kokkoskernels_target Kokkos::kokkoskernels)
elseif(TARGET KokkosKernels::all_libs)
  set(Lutra_kokkoskernels_target KokkosKernels::all_libs)
else()
  message(FATAL_ERROR "Kokkos Kernels at ${KokkosKernels_DIR} exports neither Kokkos::kokkoskernels nor "
                      "KokkosKernels::all_libs")
endif()
find_package(MPI REQUIRED COMPONENTS CXX)
find_package(METIS REQUIRED)
find_package(AMD REQUIRED)
find_package(ZLIB REQUIRED)
find_package(LibLZMA REQUIRED)
find_package(nlohmann_json 3 REQUIRED)  # headers only, inside the library: nothing an installed Lutra needs
