# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# `cpack -G DEB` in the build folder makes the package lutra: the program, liblutra_c, lutra.h, and plug-ins if built. A
# static Lutra is inside liblutra_c; its C++ headers are left out, since they need the very Kokkos it was compiled with.
set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME lutra)
set(CPACK_PACKAGE_CONTACT "Lutra <noreply@lutra.invalid>" CACHE STRING "Maintainer of packages made by cpack")
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)
set(CPACK_COMPONENTS_ALL Unspecified)
if(BUILD_SHARED_LIBS)
  list(APPEND CPACK_COMPONENTS_ALL cxx)
endif()
set(CPACK_COMPONENTS_GROUPING ALL_COMPONENTS_IN_ONE)
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SECTION math)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_GENERATE_SHLIBS ON)  # and with it the call of ldconfig
set(CPACK_DEBIAN_PACKAGE_DESCRIPTION "${PROJECT_DESCRIPTION}
 The program lutra solves systems with matrices of Matrix Market files; programs in C and Fortran use
 liblutra_c. For C++, compile the sources with your Kokkos.")
include(CPack)
