# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Finds what the Python package needs: Python_EXECUTABLE, by default the first python3 in PATH with NumPy and SciPy; the
# headers of Python; nanobind, as a CMake package or a module of that Python. Sets Lutra_python_problem to what is
# missing, or to "". Any nanobind from version 2 is accepted, so no version is requested: find_package would accept only
# that major version.
macro(lutra_find_nanobind)
  find_package(nanobind QUIET CONFIG)
  if(nanobind_FOUND AND nanobind_VERSION VERSION_LESS 2)
    set(nanobind_FOUND FALSE)
  endif()
endmacro()

function(lutra_has_scipy result python)
  execute_process(COMMAND "${python}" -c "import numpy, scipy.sparse" RESULT_VARIABLE failed OUTPUT_QUIET ERROR_QUIET)
  if(failed)
    set(${result} FALSE PARENT_SCOPE)
  endif()
endfunction()

# lutra_has_mpi4py(<result>): whether Python_EXECUTABLE has mpi4py, for lutra.mpi
function(lutra_has_mpi4py result)
  set(${result} FALSE PARENT_SCOPE)
  if(Python_EXECUTABLE)
    execute_process(COMMAND "${Python_EXECUTABLE}" -c "import mpi4py" RESULT_VARIABLE failed OUTPUT_QUIET ERROR_QUIET)
    if(NOT failed)
      set(${result} TRUE PARENT_SCOPE)
    endif()
  endif()
endfunction()

find_program(Python_EXECUTABLE NAMES python3 VALIDATOR lutra_has_scipy)

set(Lutra_python_problem "")
if(Python_EXECUTABLE)
  find_package(Python 3.9 QUIET COMPONENTS Interpreter Development.Module)
endif()
if(NOT Python_EXECUTABLE)
  set(Lutra_python_problem "no python3 with NumPy and SciPy found")
elseif(NOT Python_FOUND)
  set(Lutra_python_problem "no headers found for ${Python_EXECUTABLE}")
else()
  lutra_find_nanobind()
  if(NOT nanobind_FOUND)
    execute_process(COMMAND "${Python_EXECUTABLE}" -m nanobind --cmake_dir OUTPUT_STRIP_TRAILING_WHITESPACE
                    OUTPUT_VARIABLE nanobind_DIR ERROR_QUIET)
    lutra_find_nanobind()
  endif()
  if(NOT nanobind_FOUND)
    set(Lutra_python_problem "no nanobind 2 or later found")
  endif()
endif()
