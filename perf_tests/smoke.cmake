# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# cmake -DPROGRAM=<benchmark> -DREPORT=<file.json> -P smoke.cmake: runs the benchmark on two tiny matrices. Every line of
# the report must have a time, no error, and a small backward error if it is a solve.
cmake_minimum_required(VERSION 3.25)
execute_process(COMMAND "${PROGRAM}" --generate=circuit:200 --generate=kkt:150 --samples=1
                        "--benchmark_out=${REPORT}" --benchmark_out_format=json
                OUTPUT_QUIET ERROR_VARIABLE complaints RESULT_VARIABLE failed)
if(failed)
  message(FATAL_ERROR "${PROGRAM} ends with ${failed}:\n${complaints}")
endif()
file(READ "${REPORT}" json)
foreach(key lutra lutra_git kokkos execution_space host_threads peers limit_copy_gb_per_s limit_launch_us)
  string(JSON value GET "${json}" context ${key})  # an error if the key is missing
endforeach()
string(JSON count LENGTH "${json}" benchmarks)
if(count EQUAL 0)
  message(FATAL_ERROR "no benchmark ran")
endif()

# Stops with an error if the last line read is not complete.
function(check_line)
  if(failure)
    message(FATAL_ERROR "${name}: ${failure}")
  endif()
  if(NOT real_time GREATER 0)
    message(FATAL_ERROR "${name}: took '${real_time}'")
  endif()
  set(most 1e-9)
  if(name MATCHES "/lutra-single/")
    set(most 1e-5)  # float factors
  endif()
  if(NOT name MATCHES "/(read|scaling|symbolic[^/]*|supernodes|parilut[^/]*|select[^/]*|dense-lu/(cusolver|lapack))/" AND NOT backward_componentwise LESS most)
    message(FATAL_ERROR "${name}: backward error '${backward_componentwise}'")
  endif()
endfunction()

# The report has one field per line. string(JSON) would read the whole report for each field, which takes minutes for a
# thousand benchmarks.
file(STRINGS "${REPORT}" fields REGEX "^ *\"(name|error_message|real_time|backward_componentwise)\": ")
set(found 0)
foreach(field IN LISTS fields)
  string(REGEX MATCH "\"([a-z_]+)\": \"?([^\",]*)" whole "${field}")
  set(key "${CMAKE_MATCH_1}")
  set(value "${CMAKE_MATCH_2}")
  if(key STREQUAL "name")
    if(found GREATER 0)
      check_line()
    endif()
    math(EXPR found "${found} + 1")
    set(failure "")
    set(real_time "")
    set(backward_componentwise "")
  elseif(key STREQUAL "error_message")
    set(key failure)
  endif()
  set(${key} "${value}")
endforeach()
check_line()
if(NOT found EQUAL count)
  message(FATAL_ERROR "${count} benchmarks, but ${found} names")
endif()
message(STATUS "${count} lines, all sound")
