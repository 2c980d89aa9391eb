# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# <prefix>/lib/liblutra, liblutra_c, <prefix>/include/lutra/Lutra_*.hpp and lutra.h,
# <prefix>/include/lutra/impl/Lutra_*.hpp (internals), <prefix>/bin/lutra, <prefix>/lib/cmake/Lutra,
# <prefix>/lib/pkgconfig, <prefix>/share. With the prefix /usr on Debian lib is lib/<triplet>.
include(CMakePackageConfigHelpers)
set(Lutra_cmake_dir "${CMAKE_INSTALL_LIBDIR}/cmake/Lutra")

# Header names are unique, so those of all stages share one folder, and their internals another.
get_target_property(header_dirs lutra Lutra_HEADER_DIRECTORIES)
if(TARGET lutra_trilinos)
  list(APPEND header_dirs "${PROJECT_SOURCE_DIR}/src/trilinos" "${PROJECT_SOURCE_DIR}/src/trilinos/impl")
endif()
foreach(directory IN LISTS header_dirs)
  file(GLOB headers CONFIGURE_DEPENDS "${directory}/Lutra*.hpp")
  set(destination "${CMAKE_INSTALL_INCLUDEDIR}/lutra")
  if(directory MATCHES "/impl(/|$)")
    string(APPEND destination "/impl")
  endif()
  install(FILES ${headers} DESTINATION "${destination}")
endforeach()

install(FILES "${PROJECT_BINARY_DIR}/generated/Lutra_Config.hpp" DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}/lutra")

install(TARGETS lutra EXPORT LutraTargets)
if(TARGET lutra_c)
  set_target_properties(lutra_c PROPERTIES INSTALL_RPATH "$ORIGIN")  # liblutra lies beside it
  install(TARGETS lutra_c lutra_fortran EXPORT LutraTargets)
  install(FILES "${PROJECT_SOURCE_DIR}/src/c/lutra.h" DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}/lutra")
  install(FILES "${PROJECT_SOURCE_DIR}/src/c/lutra.f90" DESTINATION "${CMAKE_INSTALL_DATADIR}/lutra/fortran")
  include(LutraPkgConfig)
endif()
install(EXPORT LutraTargets NAMESPACE Lutra:: DESTINATION "${Lutra_cmake_dir}")
if(TARGET lutra_trilinos)
  install(TARGETS lutra_trilinos EXPORT LutraTrilinosTargets)
  install(EXPORT LutraTrilinosTargets NAMESPACE Lutra:: DESTINATION "${Lutra_cmake_dir}")
endif()
if(TARGET lutra_cli)
  file(RELATIVE_PATH from_bin_to_lib "${CMAKE_INSTALL_FULL_BINDIR}" "${CMAKE_INSTALL_FULL_LIBDIR}")
  set_target_properties(lutra_cli PROPERTIES INSTALL_RPATH "$ORIGIN/${from_bin_to_lib}")
  install(TARGETS lutra_cli)
  install(FILES "${PROJECT_SOURCE_DIR}/packaging/lutra.1" DESTINATION "${CMAKE_INSTALL_MANDIR}/man1")
  install(FILES "${PROJECT_SOURCE_DIR}/packaging/completions/lutra"
          DESTINATION "${CMAKE_INSTALL_DATADIR}/bash-completion/completions")
  install(FILES "${PROJECT_SOURCE_DIR}/packaging/completions/_lutra"
          DESTINATION "${CMAKE_INSTALL_DATADIR}/zsh/site-functions")
endif()

configure_package_config_file("${CMAKE_CURRENT_LIST_DIR}/LutraConfig.cmake.in"
  "${CMAKE_CURRENT_BINARY_DIR}/LutraConfig.cmake" INSTALL_DESTINATION "${Lutra_cmake_dir}"
  NO_SET_AND_CHECK_MACRO)
write_basic_package_version_file("${CMAKE_CURRENT_BINARY_DIR}/LutraConfigVersion.cmake"
                                 COMPATIBILITY SameMinorVersion)
install(FILES "${CMAKE_CURRENT_BINARY_DIR}/LutraConfig.cmake" "${CMAKE_CURRENT_BINARY_DIR}/LutraConfigVersion.cmake"
              "${CMAKE_CURRENT_LIST_DIR}/FindMETIS.cmake"
        DESTINATION "${Lutra_cmake_dir}")
install(FILES "${PROJECT_SOURCE_DIR}/LICENSE" "${PROJECT_SOURCE_DIR}/CHANGELOG.md"
        DESTINATION "${CMAKE_INSTALL_DATAROOTDIR}/doc/lutra")
