# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# SUNDIALS 6 and 7: SUNDIALS::core, and SUNDIALS::<name> for those of cvode, kinsol, nvecserial, sunmatrixsparse,
# sunmatrixdense and sunlinsoldense that are installed. Hints: SUNDIALS_ROOT. The package file of SUNDIALS itself is not
# used: it stops where any optional package of SUNDIALS is missing.
find_path(SUNDIALS_INCLUDE_DIR sundials/sundials_linearsolver.h)
find_library(SUNDIALS_LIBRARY NAMES sundials_core sundials_generic)
unset(SUNDIALS_VERSION)
if(SUNDIALS_INCLUDE_DIR)
  file(STRINGS "${SUNDIALS_INCLUDE_DIR}/sundials/sundials_config.h" SUNDIALS_VERSION REGEX "define SUNDIALS_VERSION \"")
  string(REGEX REPLACE ".*\"([0-9.]+).*" "\\1" SUNDIALS_VERSION "${SUNDIALS_VERSION}")
  file(STRINGS "${SUNDIALS_INCLUDE_DIR}/sundials/sundials_config.h" SUNDIALS_uses_mpi
       REGEX "^#define SUNDIALS_MPI_ENABLED 1")
endif()
include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(SUNDIALS VERSION_VAR SUNDIALS_VERSION
                                  REQUIRED_VARS SUNDIALS_LIBRARY SUNDIALS_INCLUDE_DIR)
if(SUNDIALS_FOUND AND NOT TARGET SUNDIALS::core)
  add_library(SUNDIALS::core UNKNOWN IMPORTED)
  set_target_properties(SUNDIALS::core PROPERTIES IMPORTED_LOCATION "${SUNDIALS_LIBRARY}"
                        INTERFACE_INCLUDE_DIRECTORIES "${SUNDIALS_INCLUDE_DIR}")
  if(SUNDIALS_uses_mpi)  # its headers include mpi.h
    target_link_libraries(SUNDIALS::core INTERFACE MPI::MPI_CXX)
  endif()
  foreach(name cvode kinsol nvecserial sunmatrixsparse sunmatrixdense sunlinsoldense)
    find_library(SUNDIALS_${name}_LIBRARY sundials_${name})
    mark_as_advanced(SUNDIALS_${name}_LIBRARY)
    if(SUNDIALS_${name}_LIBRARY)
      add_library(SUNDIALS::${name} UNKNOWN IMPORTED)
      set_target_properties(SUNDIALS::${name} PROPERTIES IMPORTED_LOCATION "${SUNDIALS_${name}_LIBRARY}")
      target_link_libraries(SUNDIALS::${name} INTERFACE SUNDIALS::core)
    endif()
  endforeach()
endif()
mark_as_advanced(SUNDIALS_INCLUDE_DIR SUNDIALS_LIBRARY)
