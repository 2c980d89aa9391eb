# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Writes lutra.pc in the build folder: the C interface for builds without CMake. Sets pc_dir to its installed location.

# lutra_link_words(<target> <variable>): appends to the list <variable> the linker options of a target and of all targets
# it links. Libraries in standard folders get no -L. A library that several targets need moves behind the last of them,
# as static libraries require.
function(lutra_link_words target variable)
  set(words ${${variable}})
  if(target IN_LIST lutra_link_path)  # a cycle: an outer call handles the target
    return()
  endif()
  list(APPEND lutra_link_path "${target}")
  if(TARGET "${target}")
    get_target_property(type "${target}" TYPE)
    get_target_property(imported "${target}" IMPORTED)
    if(imported AND NOT type STREQUAL "INTERFACE_LIBRARY")
      string(TOUPPER "${CMAKE_BUILD_TYPE}" config)
      get_target_property(location "${target}" LOCATION_${config})
      lutra_append_library("${location}" words)
    elseif(NOT type STREQUAL "INTERFACE_LIBRARY")  # built with Lutra
      string(REGEX REPLACE "^.*::" "" name "${target}")
      lutra_append_word("-l${name}" words)
    endif()
    foreach(property INTERFACE_LINK_OPTIONS INTERFACE_LINK_LIBRARIES)
      get_target_property(items "${target}" ${property})
      if(items)
        foreach(item IN LISTS items)
          string(REGEX REPLACE "^\\$<(LINK_ONLY|\\$<LINK_LANGUAGE:CXX>):(.*)>$" "\\2" item "${item}")
          lutra_link_words("${item}" words)
        endforeach()
      endif()
    endforeach()
  elseif(IS_ABSOLUTE "${target}")
    lutra_append_library("${target}" words)
  elseif(target MATCHES "^-[^D][^<>$]*$")
    lutra_append_word("${target}" words)
  elseif(NOT target MATCHES "^-|[$:<>]")  # a bare name; generator expressions are skipped
    lutra_append_word("-l${target}" words)
  endif()
  set(${variable} ${words} PARENT_SCOPE)
endfunction()

# lutra_append_library(<file> <variable>): -L and -l of a file at the end of the list <variable>.
function(lutra_append_library file variable)
  cmake_path(GET file PARENT_PATH folder)
  cmake_path(GET file STEM name)
  string(REGEX REPLACE "^lib" "" name "${name}")
  set(words ${${variable}})
  if(NOT folder IN_LIST CMAKE_CXX_IMPLICIT_LINK_DIRECTORIES)
    lutra_append_word("-L${folder}" words)
  endif()
  lutra_append_word("-l${name}" words)
  set(${variable} ${words} PARENT_SCOPE)
endfunction()

# lutra_append_word(<word> <variable>): moves the word to the end of the list <variable>.
function(lutra_append_word word variable)
  set(words ${${variable}})
  list(REMOVE_ITEM words "${word}")
  set(${variable} ${words} "${word}" PARENT_SCOPE)
endfunction()

set(private_libs "")
get_target_property(links lutra LINK_LIBRARIES)
foreach(link IN LISTS links)
  string(REGEX REPLACE "^\\$<BUILD_INTERFACE:.*>$" "" link "${link}")
  if(link)
    lutra_link_words("${link}" private_libs)
  endif()
endforeach()
foreach(library IN LISTS CMAKE_CXX_IMPLICIT_LINK_LIBRARIES)  # those of the C++ compiler, for linking by a C compiler
  list(APPEND private_libs "-l${library}")
endforeach()
list(PREPEND private_libs "-llutra")
if(Lutra_has_plugins AND NOT BUILD_SHARED_LIBS)  # all of a static Lutra is inside liblutra_c.so
  set(private_libs "")
endif()
list(JOIN private_libs " " private_libs)
set(pc_dir "${CMAKE_INSTALL_LIBDIR}/pkgconfig")
file(RELATIVE_PATH prefix_from_pc "${CMAKE_INSTALL_FULL_LIBDIR}/pkgconfig" "${CMAKE_INSTALL_PREFIX}")
string(REGEX REPLACE "/$" "" prefix_from_pc "${prefix_from_pc}")
configure_file("${PROJECT_SOURCE_DIR}/packaging/lutra.pc.in" "${PROJECT_BINARY_DIR}/lutra.pc" @ONLY)
