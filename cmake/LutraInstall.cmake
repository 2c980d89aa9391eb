# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# <prefix>/lib/liblutra, liblutra_c, <prefix>/include/lutra/Lutra_*.hpp and lutra.h (public headers),
# <prefix>/include/lutra/impl/Lutra_*.hpp (internals), <prefix>/bin/lutra, <prefix>/lib/cmake/Lutra,
# <prefix>/lib/pkgconfig, <prefix>/share. With the prefix /usr on Debian, lib is lib/<triplet>. The library has to be
# built; the program and the C interface are installed if they were built. What C++ alone needs is the component `cxx`.
include(CMakePackageConfigHelpers)
set(Lutra_cmake_dir "${CMAKE_INSTALL_LIBDIR}/cmake/Lutra")
install(CODE "if(NOT EXISTS \"$<TARGET_FILE:lutra>\")
  message(FATAL_ERROR \"Nothing was installed: $<TARGET_FILE:lutra> is not built. First run: cmake --build ${PROJECT_BINARY_DIR}\")
endif()")

# Header names are unique, because all public headers share one folder and all internal ones another.
get_target_property(header_dirs lutra Lutra_HEADER_DIRECTORIES)
get_target_property(public_headers lutra Lutra_PUBLIC_HEADERS)
if(TARGET lutra_trilinos)
  list(APPEND header_dirs "${PROJECT_SOURCE_DIR}/src/trilinos" "${PROJECT_SOURCE_DIR}/src/trilinos/impl")
endif()
if(TARGET lutra_nvshmem)
  list(APPEND header_dirs "${PROJECT_SOURCE_DIR}/src/nvshmem" "${PROJECT_SOURCE_DIR}/src/nvshmem/impl")
endif()
if(TARGET lutra_device_launches)
  list(APPEND header_dirs "${PROJECT_SOURCE_DIR}/src/device_launches")
endif()
foreach(directory IN LISTS header_dirs)
  file(GLOB headers CONFIGURE_DEPENDS "${directory}/Lutra*.hpp")
  foreach(header IN LISTS headers)
    cmake_path(RELATIVE_PATH header BASE_DIRECTORY "${PROJECT_SOURCE_DIR}/src" OUTPUT_VARIABLE name)
    cmake_path(REMOVE_EXTENSION name)
    if(name IN_LIST public_headers)
      install(FILES "${header}" DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}/lutra" COMPONENT cxx)
    else()
      install(FILES "${header}" DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}/lutra/impl" COMPONENT cxx)
    endif()
  endforeach()
endforeach()

install(FILES "${PROJECT_BINARY_DIR}/generated/Lutra_Config.hpp" DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}/lutra"
        COMPONENT cxx)

install(TARGETS lutra EXPORT LutraTargets COMPONENT cxx)
if(TARGET lutra_c)
  include(LutraPkgConfig)
  add_subdirectory("${CMAKE_CURRENT_LIST_DIR}/c_interface" "${PROJECT_BINARY_DIR}/cmake/c_interface")
endif()
if(TARGET lutra_hsl)
  install(TARGETS lutra_hsl LIBRARY DESTINATION "${CMAKE_INSTALL_LIBDIR}" OPTIONAL)
endif()
install(EXPORT LutraTargets NAMESPACE Lutra:: DESTINATION "${Lutra_cmake_dir}" COMPONENT cxx)
if(TARGET lutra_trilinos)
  install(TARGETS lutra_trilinos EXPORT LutraTrilinosTargets)
  install(EXPORT LutraTrilinosTargets NAMESPACE Lutra:: DESTINATION "${Lutra_cmake_dir}")
endif()
if(TARGET lutra_nvshmem)
  install(TARGETS lutra_nvshmem EXPORT LutraNvshmemTargets)
  install(EXPORT LutraNvshmemTargets NAMESPACE Lutra:: DESTINATION "${Lutra_cmake_dir}")
  install(FILES "${CMAKE_CURRENT_LIST_DIR}/FindNVSHMEM.cmake" DESTINATION "${Lutra_cmake_dir}")
endif()
if(TARGET lutra_device_launches)
  install(TARGETS lutra_device_launches EXPORT LutraDeviceLaunchesTargets)
  install(EXPORT LutraDeviceLaunchesTargets NAMESPACE Lutra:: DESTINATION "${Lutra_cmake_dir}")
  install(FILES "${CMAKE_CURRENT_LIST_DIR}/LutraCudaDeviceRuntime.cmake" DESTINATION "${Lutra_cmake_dir}")
endif()
if(TARGET lutra_petsc)
  install(TARGETS lutra_petsc LIBRARY DESTINATION "${CMAKE_INSTALL_LIBDIR}" OPTIONAL)
endif()
if(TARGET lutra_cli)
  file(RELATIVE_PATH from_bin_to_lib "${CMAKE_INSTALL_FULL_BINDIR}" "${CMAKE_INSTALL_FULL_LIBDIR}")
  set_target_properties(lutra_cli PROPERTIES INSTALL_RPATH "$ORIGIN/${from_bin_to_lib}")
  install(TARGETS lutra_cli OPTIONAL)
  install(FILES "${PROJECT_SOURCE_DIR}/packaging/lutra.1" DESTINATION "${CMAKE_INSTALL_MANDIR}/man1")
  install(FILES "${PROJECT_SOURCE_DIR}/packaging/completions/lutra"
          DESTINATION "${CMAKE_INSTALL_DATADIR}/bash-completion/completions")
  install(FILES "${PROJECT_SOURCE_DIR}/packaging/completions/_lutra"
          DESTINATION "${CMAKE_INSTALL_DATADIR}/zsh/site-functions")
endif()

# The package files are not written to the build folder itself. CMake finds packages there if their programs are in PATH,
# but the files beside them exist only after installation.
set(Lutra_package_dir "${PROJECT_BINARY_DIR}/generated/package")
file(REMOVE "${PROJECT_BINARY_DIR}/LutraConfig.cmake")  # left by older versions of this file
configure_package_config_file("${CMAKE_CURRENT_LIST_DIR}/LutraConfig.cmake.in" "${Lutra_package_dir}/LutraConfig.cmake"
                              INSTALL_DESTINATION "${Lutra_cmake_dir}" NO_SET_AND_CHECK_MACRO)
write_basic_package_version_file("${Lutra_package_dir}/LutraConfigVersion.cmake" COMPATIBILITY SameMinorVersion)
install(FILES "${Lutra_package_dir}/LutraConfig.cmake" "${Lutra_package_dir}/LutraConfigVersion.cmake"
        DESTINATION "${Lutra_cmake_dir}")
install(FILES "${CMAKE_CURRENT_LIST_DIR}/FindMETIS.cmake" DESTINATION "${Lutra_cmake_dir}" COMPONENT cxx)
install(FILES "${PROJECT_SOURCE_DIR}/LICENSE" "${PROJECT_SOURCE_DIR}/CHANGELOG.md"
        DESTINATION "${CMAKE_INSTALL_DATAROOTDIR}/doc/lutra")
if(PROJECT_IS_TOP_LEVEL)
  include(LutraDeb)
endif()
