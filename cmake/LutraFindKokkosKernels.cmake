# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# The Kokkos Kernels that belongs to the Kokkos found before; sets Lutra_kokkoskernels_target to its target's name, or
# to "" and Lutra_kokkoskernels_problem to the reason. Debian's (Trilinos') exports KokkosKernels::all_libs, a
# standalone one Kokkos::kokkoskernels.
set(Lutra_kokkoskernels_target "")
set(Lutra_kokkoskernels_problem "")
find_package(KokkosKernels 4.5 QUIET CONFIG HINTS "${Kokkos_DIR}/..")
if(NOT KokkosKernels_FOUND)
  find_package(KokkosKernels QUIET CONFIG HINTS "${Kokkos_DIR}/..")  # Trilinos' carries no version
endif()
if(NOT KokkosKernels_FOUND)
  set(Lutra_kokkoskernels_problem "no Kokkos Kernels found beside Kokkos ${Kokkos_VERSION} at ${Kokkos_DIR}, in \
KokkosKernels_ROOT or CMAKE_PREFIX_PATH")
elseif(TARGET Kokkos::kokkoskernels)
  set(Lutra_kokkoskernels_target Kokkos::kokkoskernels)
elseif(TARGET KokkosKernels::all_libs)
  # Trilinos installs the two side by side; with another Kokkos they would compile and then crash.
  file(REAL_PATH "${KokkosKernels_DIR}/.." kernels_place)
  file(REAL_PATH "${Kokkos_DIR}/.." kokkos_place)
  if(kernels_place STREQUAL kokkos_place)
    set(Lutra_kokkoskernels_target KokkosKernels::all_libs)
  else()
    set(Lutra_kokkoskernels_problem "Kokkos Kernels at ${KokkosKernels_DIR} belongs to Trilinos' Kokkos, not to the \
Kokkos ${Kokkos_VERSION} found at ${Kokkos_DIR}; KokkosKernels_ROOT or CMAKE_PREFIX_PATH can name the right one")
  endif()
else()
  set(Lutra_kokkoskernels_problem "Kokkos Kernels at ${KokkosKernels_DIR} exports neither Kokkos::kokkoskernels nor \
KokkosKernels::all_libs")
endif()
