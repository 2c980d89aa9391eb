# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Installs Lutra into an empty prefix, copies an example out of the tree, builds it against the prefix and runs it.
include("${CMAKE_CURRENT_LIST_DIR}/common.cmake")
file(REMOVE_RECURSE "${WORK}")
set(prefix "${WORK}/prefix")
run("${CMAKE_COMMAND}" --install "${LUTRA_BUILD}" --config "${CONFIG}" --prefix "${prefix}")

# Installed files must not contain build paths or set variables in the project of the user.
file(GLOB config_files "${prefix}/${LIBDIR}/cmake/Lutra/*.cmake")
list(LENGTH config_files count)
if(count LESS 4)
  message(FATAL_ERROR "No package config in ${prefix}/${LIBDIR}/cmake/Lutra")
endif()
foreach(file IN LISTS config_files)
  file(READ "${file}" text)
  foreach(unwanted "${LUTRA_SOURCE}" "${LUTRA_BUILD}" "${prefix}" "enable_language" "-Wall" "lutra_warnings"
                   "${Kokkos_DIR}")
    string(FIND "${text}" "${unwanted}" at)
    if(NOT at EQUAL -1)
      message(FATAL_ERROR "${file} holds ${unwanted}")
    endif()
  endforeach()
endforeach()

# Internal headers are separate from public ones.
file(GLOB_RECURSE internals "${LUTRA_SOURCE}/src/Lutra_*.hpp")
list(FILTER internals INCLUDE REGEX "/impl/")
list(FILTER internals EXCLUDE REGEX "/src/(c|cli)/")
if(NOT EXISTS "${prefix}/${LIBDIR}/cmake/Lutra/LutraTrilinosTargets.cmake")
  list(FILTER internals EXCLUDE REGEX "/src/trilinos/")  # built without the adapters
endif()
if(NOT EXISTS "${prefix}/${LIBDIR}/cmake/Lutra/LutraNvshmemTargets.cmake")
  list(FILTER internals EXCLUDE REGEX "/src/nvshmem/")
endif()
foreach(header IN LISTS internals)
  cmake_path(GET header FILENAME name)
  if(EXISTS "${prefix}/include/lutra/${name}" OR NOT EXISTS "${prefix}/include/lutra/impl/${name}")
    message(FATAL_ERROR "${header} is not installed in include/lutra/impl alone")
  endif()
endforeach()
if(NOT EXISTS "${prefix}/include/lutra/Lutra.hpp")
  message(FATAL_ERROR "The umbrella header is not installed")
endif()

# The program has a manual page and completion.
if(EXISTS "${prefix}/bin/lutra")
  foreach(file man/man1/lutra.1 bash-completion/completions/lutra zsh/site-functions/_lutra)
    if(NOT EXISTS "${prefix}/share/${file}")
      message(FATAL_ERROR "share/${file} is not installed")
    endif()
  endforeach()
endif()

# Moves the prefix: nothing may depend on where it was installed.
file(RENAME "${prefix}" "${WORK}/moved")
file(COPY "${LUTRA_SOURCE}/example/solve_views" DESTINATION "${WORK}")
build_and_run("${WORK}/solve_views" "${WORK}/build" solve_views "-DLutra_ROOT=${WORK}/moved")

# The program and the CMakeLists.txt in the README, as printed.
function(write_block language file)
  file(READ "${LUTRA_SOURCE}/README.md" text)
  string(FIND "${text}" "```${language}\n" at)
  string(SUBSTRING "${text}" ${at} -1 text)
  string(REGEX REPLACE "^```[a-z]+\n" "" text "${text}")
  string(FIND "${text}" "```" end)
  string(SUBSTRING "${text}" 0 ${end} text)
  file(WRITE "${file}" "${text}")
endfunction()
write_block(cpp "${WORK}/my_program/my_program.cpp")
write_block(cmake "${WORK}/my_program/CMakeLists.txt")
build_and_run("${WORK}/my_program" "${WORK}/my_program/build" my_program "-DLutra_ROOT=${WORK}/moved")

# The same in C, with only the compiler and pkg-config.
find_program(PKG_CONFIG pkg-config)
if(PKG_CONFIG)
  set(ENV{PKG_CONFIG_PATH} "${WORK}/moved/${LIBDIR}/pkgconfig")
  execute_process(COMMAND "${PKG_CONFIG}" --static --cflags --libs lutra OUTPUT_VARIABLE pkg_flags
                  COMMAND_ERROR_IS_FATAL ANY)
  separate_arguments(flags UNIX_COMMAND "${CXX_FLAGS} ${pkg_flags}")
  file(COPY "${LUTRA_SOURCE}/example/c_solve/c_solve.c" DESTINATION "${WORK}")
  run("${C_COMPILER}" -std=c99 -Wall -Wextra -pedantic -Werror "${WORK}/c_solve.c" -o "${WORK}/c_solve" ${flags} -lm)
  set(ENV{LD_LIBRARY_PATH} "${WORK}/moved/${LIBDIR}:${Kokkos_DIR}/../..:$ENV{LD_LIBRARY_PATH}")
  run("${WORK}/c_solve")
endif()

# On ranks of MPI, whose C interface has a header of its own. Alone, the program is one rank.
file(COPY "${LUTRA_SOURCE}/example/c_distributed" DESTINATION "${WORK}")
build_and_run("${WORK}/c_distributed" "${WORK}/c_distributed_build" c_distributed "-DLutra_ROOT=${WORK}/moved"
              "-DCMAKE_C_COMPILER=${C_COMPILER}" "-DCMAKE_C_FLAGS=${CXX_FLAGS}")

# The header for Eigen.
find_path(EIGEN Eigen/SparseCore PATHS /usr/include PATH_SUFFIXES eigen3)
if(EIGEN)
  file(COPY "${LUTRA_SOURCE}/example/eigen_solve" DESTINATION "${WORK}")
  build_and_run("${WORK}/eigen_solve" "${WORK}/eigen_build" eigen_solve "-DLutra_ROOT=${WORK}/moved")
endif()

# The same in Fortran, whose module is installed as source.
find_program(FORTRAN_COMPILER NAMES gfortran flang)
if(FORTRAN_COMPILER)
  file(COPY "${LUTRA_SOURCE}/example/fortran_solve" DESTINATION "${WORK}")
  build_and_run("${WORK}/fortran_solve" "${WORK}/fortran_build" fortran_solve "-DLutra_ROOT=${WORK}/moved"
                "-DCMAKE_Fortran_COMPILER=${FORTRAN_COMPILER}")
endif()
