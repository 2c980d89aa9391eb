# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Lutra_ENABLE_MPI=OFF looks for no MPI, turns the tests off, and refuses what needs MPI. Nothing is compiled.
include("${CMAKE_CURRENT_LIST_DIR}/common.cmake")
file(REMOVE_RECURSE "${WORK}")
set(configure "${CMAKE_COMMAND}" -S "${LUTRA_SOURCE}" -B "${WORK}/build" -G "${GENERATOR}" "-DCMAKE_BUILD_TYPE=${CONFIG}"
    "-DCMAKE_CXX_COMPILER=${CXX_COMPILER}" "-DCMAKE_C_COMPILER=${C_COMPILER}" "-DCMAKE_CXX_FLAGS=${CXX_FLAGS}"
    "-DKokkos_DIR=${Kokkos_DIR}" "-DKokkosKernels_DIR=${KokkosKernels_DIR}" -DLutra_ENABLE_MPI=OFF
    -DCMAKE_DISABLE_FIND_PACKAGE_MPI=ON)
run(${configure})
file(STRINGS "${WORK}/build/CMakeCache.txt" found REGEX "^MPI_CXX")
file(STRINGS "${WORK}/build/generated/Lutra_Config.hpp" has_mpi REGEX "^#define LUTRA_HAS_MPI")
if(found OR has_mpi OR EXISTS "${WORK}/build/unit_tests")
  message(FATAL_ERROR "Configured with MPI or with tests: ${found} ${has_mpi}")
endif()
execute_process(COMMAND ${configure} -DLutra_ENABLE_BENCHMARKS=ON RESULT_VARIABLE failed OUTPUT_VARIABLE said ERROR_VARIABLE said)
if(NOT failed OR NOT said MATCHES "Lutra_ENABLE_BENCHMARKS needs Lutra_ENABLE_MPI")
  message(FATAL_ERROR "Benchmarks without MPI were not refused: ${said}")
endif()
