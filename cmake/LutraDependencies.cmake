# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Packages that Lutra requires.
find_package(Kokkos 4.5 REQUIRED CONFIG)
foreach(backend IN LISTS Lutra_REQUIRE_BACKENDS)
  if(NOT backend IN_LIST Kokkos_DEVICES)
    message(FATAL_ERROR "Lutra_REQUIRE_BACKENDS asks for ${backend}, but Kokkos ${Kokkos_VERSION} at ${Kokkos_DIR} has "
                        "${Kokkos_DEVICES}. Point Kokkos_ROOT at a Kokkos with it.")
  endif()
endforeach()
include(LutraFindKokkosKernels)
if(NOT Lutra_kokkoskernels_target)
  message(FATAL_ERROR "${Lutra_kokkoskernels_problem}")
endif()
if(Lutra_ENABLE_MPI)
  find_package(MPI REQUIRED COMPONENTS CXX)
endif()
# For tests: these variables of Open MPI 4 (OMPI_) and 5 (PRTE_) allow more ranks than cores, and ranks started by root as
# in containers. Leaks inside MPI are ignored.
set(Lutra_mpi_test_environment "OMPI_ALLOW_RUN_AS_ROOT=1;OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1;OMPI_MCA_rmaps_base_oversubscribe=1"
    "PRTE_MCA_rmaps_default_mapping_policy=:oversubscribe;OMP_NUM_THREADS=1;ASAN_OPTIONS=detect_leaks=0")

# Packages that only the library uses. Users of a static Lutra link them too, so LutraConfig.cmake finds them.
set(Lutra_private_packages METIS ZLIB LibLZMA)
foreach(package IN LISTS Lutra_private_packages)
  find_package(${package} REQUIRED)
endforeach()
find_package(nlohmann_json 3 REQUIRED)  # header-only and internal: an installed Lutra does not need it

if(Lutra_ENABLE_NVSHMEM)  # Lutra::nvshmem alone; COMPONENTS nvshmem of the installed package finds it too
  find_package(NVSHMEM REQUIRED)
endif()

# Packages of Trilinos for the adapters. Their Kokkos must be the one found above.
set(Lutra_trilinos_packages Amesos2 Ifpack2 Stratimikos)
if(Lutra_ENABLE_TRILINOS)
  foreach(package IN LISTS Lutra_trilinos_packages)
    find_package(${package} REQUIRED CONFIG HINTS "${Kokkos_DIR}/..")
  endforeach()
endif()
