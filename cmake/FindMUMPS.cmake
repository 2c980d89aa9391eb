# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# MUMPS in double precision, the build with MPI: MUMPS::MUMPS. Hints: MUMPS_ROOT.
#
# Debian's sequential build, libdmumps_seq, is not used. Its libmpiseq defines MPI_Init and others, which Lutra's MPI
# defines as well; a program with both calls the one that the linker saw first.
find_package(MPI QUIET COMPONENTS CXX)
find_path(MUMPS_INCLUDE_DIR dmumps_c.h)
find_library(MUMPS_LIBRARY dmumps)
find_library(MUMPS_COMMON_LIBRARY mumps_common)
include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(MUMPS REQUIRED_VARS MUMPS_LIBRARY MUMPS_COMMON_LIBRARY MUMPS_INCLUDE_DIR MPI_CXX_FOUND)
if(MUMPS_FOUND AND NOT TARGET MUMPS::MUMPS)
  add_library(MUMPS::MUMPS UNKNOWN IMPORTED)
  set_target_properties(MUMPS::MUMPS PROPERTIES IMPORTED_LOCATION "${MUMPS_LIBRARY}"
                        INTERFACE_INCLUDE_DIRECTORIES "${MUMPS_INCLUDE_DIR}"
                        INTERFACE_LINK_LIBRARIES "${MUMPS_COMMON_LIBRARY};MPI::MPI_CXX")
endif()
mark_as_advanced(MUMPS_INCLUDE_DIR MUMPS_LIBRARY MUMPS_COMMON_LIBRARY)
