# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Lutra inside another project. The build folder stays, and the warning flags are those of the main build, so that
# a second run, or ccache, has little to compile.
include("${CMAKE_CURRENT_LIST_DIR}/common.cmake")
build_and_run("${CMAKE_CURRENT_LIST_DIR}/subdirectory" "${WORK}" solve_views "-DLUTRA_SOURCE=${LUTRA_SOURCE}"
              "-DCMAKE_C_COMPILER=${C_COMPILER}" "-DBUILD_SHARED_LIBS=${SHARED}"
              "-DLutra_ENABLE_WARNINGS=${WARNINGS}")
