# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# SuiteSparse's KLU: KLU::KLU. Hints: KLU_ROOT.
find_package(AMD QUIET)
find_path(KLU_INCLUDE_DIR klu.h PATH_SUFFIXES suitesparse)
find_library(KLU_LIBRARY klu)
find_library(BTF_LIBRARY btf)
find_library(COLAMD_LIBRARY colamd)
include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(KLU REQUIRED_VARS KLU_LIBRARY BTF_LIBRARY COLAMD_LIBRARY KLU_INCLUDE_DIR AMD_FOUND)
if(KLU_FOUND AND NOT TARGET KLU::KLU)
  add_library(KLU::KLU UNKNOWN IMPORTED)
  set_target_properties(KLU::KLU PROPERTIES IMPORTED_LOCATION "${KLU_LIBRARY}"
                        INTERFACE_INCLUDE_DIRECTORIES "${KLU_INCLUDE_DIR}"
                        INTERFACE_LINK_LIBRARIES "${BTF_LIBRARY};${COLAMD_LIBRARY};AMD::AMD")
endif()
mark_as_advanced(KLU_INCLUDE_DIR KLU_LIBRARY BTF_LIBRARY COLAMD_LIBRARY)
