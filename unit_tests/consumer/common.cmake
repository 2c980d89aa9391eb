# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
function(run)
  execute_process(COMMAND ${ARGN} COMMAND_ERROR_IS_FATAL ANY)
endfunction()

# build_and_run(<source> <build> <program> <arguments of cmake>…)
function(build_and_run source build program)
  run("${CMAKE_COMMAND}" -S "${source}" -B "${build}" -G "${GENERATOR}" "-DCMAKE_BUILD_TYPE=${CONFIG}"
      "-DCMAKE_CXX_COMPILER=${CXX_COMPILER}" "-DCMAKE_CXX_FLAGS=${CXX_FLAGS}"
      "-DCMAKE_CXX_COMPILER_LAUNCHER=${LAUNCHER}"
      "-DKokkos_DIR=${Kokkos_DIR}" "-DKokkosKernels_DIR=${KokkosKernels_DIR}" ${ARGN})
  run("${CMAKE_COMMAND}" --build "${build}" --config "${CONFIG}" --target "${program}" --parallel)
  run("${build}/${program}")
endfunction()
