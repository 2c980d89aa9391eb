# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# If only some targets were built, as by scripts/quickstart.sh, installation installs those. Without the library it
# installs nothing. A Kokkos Kernels without its sparse part is refused. Nothing is compiled here: an empty file replaces
# the library.
include("${CMAKE_CURRENT_LIST_DIR}/common.cmake")
file(REMOVE_RECURSE "${WORK}")
run("${CMAKE_COMMAND}" -S "${LUTRA_SOURCE}" -B "${WORK}/build" -G "${GENERATOR}" "-DCMAKE_BUILD_TYPE=${CONFIG}"
    "-DCMAKE_CXX_COMPILER=${CXX_COMPILER}" "-DCMAKE_C_COMPILER=${C_COMPILER}" "-DCMAKE_CXX_FLAGS=${CXX_FLAGS}"
    "-DKokkos_DIR=${Kokkos_DIR}" "-DKokkosKernels_DIR=${KokkosKernels_DIR}" -DCMAKE_INSTALL_LIBDIR=lib
    -DLutra_ENABLE_TESTS=OFF -DLutra_ENABLE_EXAMPLES=OFF)

# expect_failure(<pattern> <command>…): checks that a command fails with a message that matches.
function(expect_failure pattern)
  execute_process(COMMAND ${ARGN} RESULT_VARIABLE failed OUTPUT_VARIABLE said ERROR_VARIABLE said)
  if(NOT failed OR NOT said MATCHES "${pattern}")
    message(FATAL_ERROR "Expected a failure that says '${pattern}'; the exit status is ${failed}:\n${said}")
  endif()
endfunction()

expect_failure("Nothing was installed" "${CMAKE_COMMAND}" --install "${WORK}/build" --config "${CONFIG}"
               --prefix "${WORK}/prefix")
file(GLOB_RECURSE installed "${WORK}/prefix/*")
if(installed)
  message(FATAL_ERROR "Without a library there was installed: ${installed}")
endif()

file(TOUCH "${WORK}/build/src/liblutra.a")
run("${CMAKE_COMMAND}" --install "${WORK}/build" --config "${CONFIG}" --prefix "${WORK}/prefix")
foreach(file lib/liblutra.a include/lutra/Lutra.hpp lib/cmake/Lutra/LutraConfig.cmake)
  if(NOT EXISTS "${WORK}/prefix/${file}")
    message(FATAL_ERROR "${file} was not installed")
  endif()
endforeach()
foreach(file include/lutra/lutra.h lib/pkgconfig/lutra.pc share/lutra/fortran/lutra.f90 lib/cmake/Lutra/LutraCTargets.cmake)
  if(EXISTS "${WORK}/prefix/${file}")
    message(FATAL_ERROR "${file} was installed without the C interface")
  endif()
endforeach()

# The package is found. Only projects that request the C interface miss it.
set(find "${CMAKE_COMMAND}" -S "${CMAKE_CURRENT_LIST_DIR}/find_only" -G "${GENERATOR}" "-DCMAKE_CXX_COMPILER=${CXX_COMPILER}"
    "-DCMAKE_C_COMPILER=${C_COMPILER}" "-DKokkos_DIR=${Kokkos_DIR}" "-DKokkosKernels_DIR=${KokkosKernels_DIR}")
run(${find} -B "${WORK}/find" "-DLutra_ROOT=${WORK}/prefix" -DEXPECTED=TRUE)
expect_failure("without its component[ \n]+C" ${find} -B "${WORK}/find_c" "-DLutra_ROOT=${WORK}/prefix" -DEXPECTED=TRUE -DCOMPONENTS=C)

# A build folder whose programs are in PATH is not a package.
set(ENV{PATH} "${WORK}/build/bin:$ENV{PATH}")
file(MAKE_DIRECTORY "${WORK}/build/bin")
run(${find} -B "${WORK}/find_on_path" -DEXPECTED=FALSE)

foreach(sparse ON OFF)
  run("${CMAKE_COMMAND}" -S "${CMAKE_CURRENT_LIST_DIR}/kernels_without_sparse" -B "${WORK}/kernels" -G "${GENERATOR}"
      -DSPARSE=${sparse} "-DLUTRA_SOURCE=${LUTRA_SOURCE}")
endforeach()
