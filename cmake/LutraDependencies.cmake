# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# The packages Lutra is built on. Debian's (Trilinos') Kokkos Kernels exports KokkosKernels::all_libs, a standalone
# one Kokkos::kokkoskernels; Lutra_kokkoskernels_target holds the name of the one found.
find_package(Kokkos 4.5 REQUIRED CONFIG)
foreach(backend IN LISTS Lutra_REQUIRE_BACKENDS)
  if(NOT backend IN_LIST Kokkos_DEVICES)
    message(FATAL_ERROR "Lutra_REQUIRE_BACKENDS asks for ${backend}, but Kokkos ${Kokkos_VERSION} at ${Kokkos_DIR} has "
                        "${Kokkos_DEVICES}. Point Kokkos_ROOT at a Kokkos with it.")
  endif()
endforeach()
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

# Packages only the library itself uses. A static Lutra's users link them too, so LutraConfig.cmake looks for them.
set(Lutra_private_packages METIS AMD)
foreach(package IN LISTS Lutra_private_packages)
  find_package(${package} REQUIRED)
endforeach()
