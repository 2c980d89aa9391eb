# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Lutra inside another project, as a shared library for one scalar. The build folder is kept and the warning flags are
# those of the main build, so that a second run has little to compile. Results are tested elsewhere, so it is compiled
# without optimisation.
include("${CMAKE_CURRENT_LIST_DIR}/common.cmake")
build_and_run("${CMAKE_CURRENT_LIST_DIR}/subdirectory" "${WORK}/build" solve_views "-DLUTRA_SOURCE=${LUTRA_SOURCE}"
              "-DCMAKE_C_COMPILER=${C_COMPILER}" -DBUILD_SHARED_LIBS=ON -DLutra_SCALARS=f64
              "-DLutra_ENABLE_WARNINGS=${WARNINGS}" "-DCMAKE_CXX_FLAGS_RELEASE=-O0" -DLutra_ENABLE_C=ON)
run("${CMAKE_COMMAND}" --build "${WORK}/build" --config "${CONFIG}" --target lutra_c)

# Installed and moved, the shared library is found by its SONAME. Programs that link it need no METIS.
file(REMOVE_RECURSE "${WORK}/prefix" "${WORK}/moved" "${WORK}/solve_views" "${WORK}/consumer")
run("${CMAKE_COMMAND}" --install "${WORK}/build" --config "${CONFIG}" --prefix "${WORK}/prefix")
file(RENAME "${WORK}/prefix" "${WORK}/moved")
if(NOT EXISTS "${WORK}/moved/${LIBDIR}/liblutra.so.${SOVERSION}" AND UNIX AND NOT APPLE)
  message(FATAL_ERROR "There is no liblutra.so.${SOVERSION} in ${WORK}/moved/${LIBDIR}")
endif()
file(COPY "${LUTRA_SOURCE}/example/solve_views" DESTINATION "${WORK}")
build_and_run("${WORK}/solve_views" "${WORK}/consumer" solve_views "-DLutra_ROOT=${WORK}/moved"
              -DCMAKE_DISABLE_FIND_PACKAGE_METIS=ON)

# A project in C uses neither a C++ compiler nor Kokkos. Linker and loader find the shared libraries of Kokkos by path.
set(ENV{LD_LIBRARY_PATH} "${Kokkos_DIR}/../..:$ENV{LD_LIBRARY_PATH}")
run("${CMAKE_COMMAND}" --fresh -S "${CMAKE_CURRENT_LIST_DIR}/c_only" -B "${WORK}/c_only" -G "${GENERATOR}"
    "-DCMAKE_C_COMPILER=${C_COMPILER}" "-DCMAKE_C_FLAGS=${CXX_FLAGS}" "-DLUTRA_SOURCE=${LUTRA_SOURCE}"
    "-DLutra_ROOT=${WORK}/moved" "-DCMAKE_BUILD_TYPE=${CONFIG}")
run("${CMAKE_COMMAND}" --build "${WORK}/c_only" --config "${CONFIG}")
run("${WORK}/c_only/c_solve")
run("${WORK}/c_only/c_distributed")  # alone, it is one rank

# A type that was not compiled is an error of the compiler, with a message that names the option, not of the linker.
run("${CMAKE_COMMAND}" -S "${CMAKE_CURRENT_LIST_DIR}/types_not_built" -B "${WORK}/types" -G "${GENERATOR}"
    "-DCMAKE_CXX_COMPILER=${CXX_COMPILER}" "-DKokkos_DIR=${Kokkos_DIR}" "-DKokkosKernels_DIR=${KokkosKernels_DIR}"
    "-DLutra_ROOT=${WORK}/moved")
foreach(case "float_scalar;Lutra_SCALARS" "unsigned_row_map;std::size_t"
        "execution_space;give a memory space")
  list(GET case 0 target)
  list(GET case 1 expected)
  execute_process(COMMAND "${CMAKE_COMMAND}" --build "${WORK}/types" --target ${target}
                  RESULT_VARIABLE failed OUTPUT_VARIABLE said ERROR_VARIABLE said)
  if(NOT failed)
    message(FATAL_ERROR "${target} was compiled, although the library holds nothing for it")
  endif()
  string(FIND "${said}" "${expected}" at)
  if(at EQUAL -1)
    message(FATAL_ERROR "The compiler's message for ${target} does not name ${expected}:\n${said}")
  endif()
endforeach()
