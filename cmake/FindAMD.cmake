# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# SuiteSparse's AMD: AMD::AMD. Hints: AMD_ROOT.
find_path(AMD_INCLUDE_DIR amd.h PATH_SUFFIXES suitesparse)
find_library(AMD_LIBRARY amd)
find_library(SUITESPARSECONFIG_LIBRARY suitesparseconfig)
include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(AMD REQUIRED_VARS AMD_LIBRARY SUITESPARSECONFIG_LIBRARY AMD_INCLUDE_DIR)
if(AMD_FOUND AND NOT TARGET AMD::AMD)
  add_library(AMD::AMD UNKNOWN IMPORTED)
  set_target_properties(AMD::AMD PROPERTIES IMPORTED_LOCATION "${AMD_LIBRARY}"
                        INTERFACE_INCLUDE_DIRECTORIES "${AMD_INCLUDE_DIR}"
                        INTERFACE_LINK_LIBRARIES "${SUITESPARSECONFIG_LIBRARY}")
endif()
mark_as_advanced(AMD_INCLUDE_DIR AMD_LIBRARY SUITESPARSECONFIG_LIBRARY)
