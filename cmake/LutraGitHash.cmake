# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Run at build time: cmake -DSOURCE=<project> -DTEMPLATE=<.in> -DOUTPUT=<header> -P LutraGitHash.cmake
# Writes the commit of SOURCE, with -dirty for a changed work tree. Writes "unknown" without git, or if SOURCE is not the
# top of a git work tree, since a copy inside another repository must not report the commit of that one. The environment
# variable LUTRA_COMMIT names the commit where git cannot see it.
set(LUTRA_GIT_HASH "unknown")
if(DEFINED ENV{LUTRA_COMMIT})
  set(LUTRA_GIT_HASH "$ENV{LUTRA_COMMIT}")
endif()
find_program(GIT_COMMAND git)
if(GIT_COMMAND)
  execute_process(COMMAND "${GIT_COMMAND}" rev-parse --show-toplevel WORKING_DIRECTORY "${SOURCE}"
                  OUTPUT_VARIABLE top OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
  file(REAL_PATH "${SOURCE}" source)
  if(top)
    file(REAL_PATH "${top}" top)
  endif()
  if(top STREQUAL source)
    execute_process(COMMAND "${GIT_COMMAND}" describe --always --dirty --exclude * --abbrev=12
                    WORKING_DIRECTORY "${SOURCE}" OUTPUT_VARIABLE described RESULT_VARIABLE failed
                    OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
    if(NOT failed)
      set(LUTRA_GIT_HASH "${described}")
    endif()
  endif()
endif()
configure_file("${TEMPLATE}" "${OUTPUT}" @ONLY)  # does not touch the file if nothing changed
