# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Finds the Kokkos Kernels that was built with the Kokkos found before. Sets Lutra_kokkoskernels_target to the name of its
# target, or to "" with the reason in Lutra_kokkoskernels_problem. Debian's, which is part of Trilinos, exports
# KokkosKernels::all_libs; a standalone one exports Kokkos::kokkoskernels.
set(Lutra_kokkoskernels_target "")
set(Lutra_kokkoskernels_problem "")
find_package(KokkosKernels 4.5 QUIET CONFIG HINTS "${Kokkos_DIR}/..")
if(NOT KokkosKernels_FOUND)
  find_package(KokkosKernels QUIET CONFIG HINTS "${Kokkos_DIR}/..")  # that of Trilinos has no version
endif()
if(NOT KokkosKernels_FOUND)
  set(Lutra_kokkoskernels_problem "no Kokkos Kernels found beside Kokkos ${Kokkos_VERSION} at ${Kokkos_DIR}, in \
KokkosKernels_ROOT or CMAKE_PREFIX_PATH")
elseif(TARGET Kokkos::kokkoskernels)
  set(Lutra_kokkoskernels_target Kokkos::kokkoskernels)
elseif(TARGET KokkosKernels::all_libs)
  # Trilinos installs the two side by side. With another Kokkos, programs would compile and then crash.
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

# Kokkos Kernels can be built without its sparse part. Its headers are then missing.
function(lutra_include_directories target result)
  set(targets ${target})
  set(directories "")
  set(seen "")
  while(targets)
    list(POP_FRONT targets next)
    if(NOT TARGET "${next}" OR next IN_LIST seen)
      continue()
    endif()
    list(APPEND seen "${next}")
    get_target_property(own "${next}" INTERFACE_INCLUDE_DIRECTORIES)
    get_target_property(linked "${next}" INTERFACE_LINK_LIBRARIES)
    if(own)
      list(APPEND directories ${own})
    endif()
    if(linked)
      list(APPEND targets ${linked})
    endif()
  endwhile()
  # A Kokkos Kernels built together with Lutra has generator expressions here.
  string(REGEX REPLACE "\\$<(BUILD|INSTALL)_INTERFACE:([^>]*)>" "\\2" directories "${directories}")
  set(${result} ${directories} PARENT_SCOPE)
endfunction()
if(Lutra_kokkoskernels_target)
  lutra_include_directories(${Lutra_kokkoskernels_target} kernels_directories)
  find_file(kernels_sparse_header KokkosSparse_CrsMatrix.hpp PATHS ${kernels_directories} NO_DEFAULT_PATH NO_CACHE)
  if(NOT kernels_sparse_header)
    set(Lutra_kokkoskernels_target "")
    set(Lutra_kokkoskernels_problem "Kokkos Kernels at ${KokkosKernels_DIR} was built without its sparse part \
(KokkosSparse_CrsMatrix.hpp is missing); KokkosKernels_ENABLE_COMPONENT_SPARSE=ON builds it")
  endif()
  unset(kernels_sparse_header)
endif()
