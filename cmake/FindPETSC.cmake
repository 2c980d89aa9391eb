# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# PETSc: PETSC::PETSC, PETSC_VERSION. Hints: PETSC_ROOT or PETSC_DIR, and PETSC_ARCH of a PETSc that is not installed, as
# variables of CMake or of the environment. Without a hint Debian's PETSc with real numbers is found.
foreach(variable PETSC_DIR PETSC_ARCH)
  if(NOT ${variable})
    set(${variable} "$ENV{${variable}}")
  endif()
endforeach()
file(GLOB debian LIST_DIRECTORIES true "/usr/lib/petscdir/petsc*/*-real" "/usr/lib/petsc")
list(SORT debian COMPARE NATURAL ORDER DESCENDING)
set(PETSC_hints "${PETSC_DIR}/${PETSC_ARCH}" "${PETSC_DIR}")
find_path(PETSC_INCLUDE_DIR petsc/private/matimpl.h HINTS ${PETSC_hints} PATHS ${debian} PATH_SUFFIXES include)
find_path(PETSC_CONFIGURATION_DIR petscconf.h HINTS ${PETSC_hints} PATHS ${debian} PATH_SUFFIXES include)
find_library(PETSC_LIBRARY NAMES petsc petsc_real petsc_complex HINTS ${PETSC_hints} PATHS ${debian} PATH_SUFFIXES lib)
unset(PETSC_VERSION)
if(PETSC_INCLUDE_DIR)
  file(STRINGS "${PETSC_INCLUDE_DIR}/petscversion.h" lines REGEX "PETSC_VERSION_(MAJOR|MINOR|SUBMINOR) +[0-9]+")
  list(TRANSFORM lines REPLACE "^.* ([0-9]+).*$" "\\1")
  list(JOIN lines "." PETSC_VERSION)
endif()
include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(PETSC VERSION_VAR PETSC_VERSION
                                  REQUIRED_VARS PETSC_LIBRARY PETSC_INCLUDE_DIR PETSC_CONFIGURATION_DIR)
if(PETSC_FOUND AND NOT TARGET PETSC::PETSC)
  add_library(PETSC::PETSC UNKNOWN IMPORTED)
  set_target_properties(PETSC::PETSC PROPERTIES IMPORTED_LOCATION "${PETSC_LIBRARY}"
                        INTERFACE_INCLUDE_DIRECTORIES "${PETSC_INCLUDE_DIR};${PETSC_CONFIGURATION_DIR}")
endif()
mark_as_advanced(PETSC_INCLUDE_DIR PETSC_CONFIGURATION_DIR PETSC_LIBRARY)
