# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# lutra_warnings: every target of the project links it (PRIVATE); it is never exported.
add_library(lutra_warnings INTERFACE)
if(Lutra_ENABLE_WARNINGS)
  target_compile_options(lutra_warnings INTERFACE
    $<$<COMPILE_LANG_AND_ID:CXX,GNU,Clang,AppleClang>:-Wall;-Wextra;-Wpedantic;-Wshadow;-Wconversion>
    # -Wconversion of Clang includes conversions of sign, that of GCC does not
    $<$<COMPILE_LANG_AND_ID:CXX,Clang,AppleClang>:-Wno-sign-conversion>
    # GCC 12 reports overlapping copies in "text" + std::to_string(n) (GCC bug 105329)
    $<$<AND:$<COMPILE_LANG_AND_ID:CXX,GNU>,$<VERSION_LESS:$<CXX_COMPILER_VERSION>,13>>:-Wno-restrict>)
endif()

# lutra_add_stage(<folder>): makes headers of src/<folder> and of the method folders below it includable by name, in the
# build tree from there, and after installation from <prefix>/include/lutra (public headers) and
# <prefix>/include/lutra/impl (all others).
function(lutra_add_stage folder)
  set(root "${PROJECT_SOURCE_DIR}/src/${folder}")
  file(GLOB_RECURSE headers CONFIGURE_DEPENDS "${root}/Lutra*.hpp")
  set(directories "")
  foreach(header IN LISTS headers)
    cmake_path(GET header PARENT_PATH directory)
    list(APPEND directories "${directory}")
  endforeach()
  list(REMOVE_DUPLICATES directories)
  target_include_directories(lutra PUBLIC "$<BUILD_INTERFACE:${directories}>")
  set_property(TARGET lutra APPEND PROPERTY Lutra_HEADER_DIRECTORIES "${directories}")
endfunction()

# lutra_compile_together(<target> <group> <sources>…): compiles short sources as one. Separately, each would read Kokkos
# again, with nvcc three times, which takes longer than its own code.
function(lutra_compile_together target group)
  set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_MODE GROUP
                        UNITY_BUILD_CODE_AFTER_INCLUDE "#undef LUTRA_INSTANTIATE")
  set_source_files_properties(${ARGN} TARGET_DIRECTORY ${target} PROPERTIES UNITY_GROUP ${group})
endfunction()

# lutra_precompile(<target> <headers>…): precompiles headers that most sources include. Not with nvcc and hipcc, which read
# a source once for host and once for device, and not with a compiler launcher, since ccache needs special settings for it.
function(lutra_precompile target)
  if(NOT CMAKE_CXX_COMPILER_LAUNCHER AND NOT Kokkos_ENABLE_CUDA AND NOT Kokkos_ENABLE_HIP)
    target_precompile_headers(${target} PRIVATE ${ARGN})
  endif()
endfunction()

# lutra_precompile_as(<target> <other>): reuses the precompiled headers of <other>, which has the same flags.
function(lutra_precompile_as target other)
  get_target_property(headers ${other} PRECOMPILE_HEADERS)
  if(headers)
    target_precompile_headers(${target} REUSE_FROM ${other})
  endif()
endfunction()
