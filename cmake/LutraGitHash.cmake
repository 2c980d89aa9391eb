# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
cmake_minimum_required(VERSION 3.25)
# Script: cmake -DSOURCE_DIR=… -DVERSION=… -DOUTPUT=… -P LutraGitHash.cmake
# Writes a header with Lutra's version and commit, and touches it only when they change. Run at each build, so that
# the commit is the one built and not the one configured.
set(hash "unknown")
find_package(Git QUIET)
if(Git_FOUND)
  # A prefix would mean that the repository is somebody else's and Lutra a folder in it.
  execute_process(COMMAND "${GIT_EXECUTABLE}" rev-parse --show-prefix WORKING_DIRECTORY "${SOURCE_DIR}"
                  RESULT_VARIABLE outside OUTPUT_VARIABLE prefix OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
  if(outside EQUAL 0 AND prefix STREQUAL "")
    execute_process(COMMAND "${GIT_EXECUTABLE}" describe --always --abbrev=12 --dirty --exclude=*
                    WORKING_DIRECTORY "${SOURCE_DIR}" RESULT_VARIABLE failed OUTPUT_VARIABLE described
                    OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
    if(failed EQUAL 0)
      set(hash "${described}")
    endif()
  endif()
endif()
file(CONFIGURE OUTPUT "${OUTPUT}" @ONLY CONTENT
"#ifndef LUTRA_GITHASH_HPP
#define LUTRA_GITHASH_HPP

namespace lutra::Impl {
inline constexpr const char* version_text = \"@VERSION@\";
inline constexpr const char* git_text = \"@hash@\";
}  // namespace lutra::Impl

#endif
")
