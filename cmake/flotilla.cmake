# flt_library(): the only CMake logic. Above it stands what every target shares.

include(CTest)
include(GoogleTest)
include(CheckLinkerFlag)

set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
set(CMAKE_RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/bin)
set(CMAKE_LIBRARY_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/lib)

# A cache hit must not depend on where the repository lies: hence the base folder, and the prefix
# map below. The sloppiness is what ccache needs to work with precompiled headers.
find_program(FLT_CCACHE ccache)
if(FLT_CCACHE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  set(CMAKE_CXX_COMPILER_LAUNCHER
      ${CMAKE_COMMAND} -E env CCACHE_BASEDIR=${CMAKE_SOURCE_DIR} CCACHE_NOHASHDIR=1
      CCACHE_SLOPPINESS=pch_defines,time_macros ${FLT_CCACHE})
endif()

find_package(fmt REQUIRED)
find_package(spdlog REQUIRED)
find_package(absl REQUIRED)
find_package(Protobuf REQUIRED)
find_package(Threads REQUIRED)
if(BUILD_TESTING)
  find_package(GTest REQUIRED)
endif()

# How our own code is compiled. Nothing third-party links it.
add_library(flt_options INTERFACE)
target_include_directories(flt_options INTERFACE ${CMAKE_SOURCE_DIR})
target_include_directories(flt_options SYSTEM INTERFACE ${CMAKE_BINARY_DIR}/generated)
target_link_libraries(flt_options INTERFACE fmt::fmt Threads::Threads)
target_compile_options(
  flt_options
  INTERFACE
    $<$<COMPILE_LANGUAGE:CXX>:-Wall;-Wextra;-Werror>
    # Loops over sqrt and comparisons vectorize only when neither errno nor a trap can be observed.
    $<$<COMPILE_LANGUAGE:CXX>:-fno-math-errno;-fno-trapping-math>
    # Calls inside libflotilla.so may be inlined: nobody replaces our symbols at load time.
    $<$<COMPILE_LANGUAGE:CXX>:-fno-semantic-interposition>
    $<$<COMPILE_LANGUAGE:CXX>:-ffile-prefix-map=${CMAKE_SOURCE_DIR}/=>)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  # At -O3 g++ 12 reports writes out of bounds inside std::string and fmt that are not there (its
  # bugs 105651 and 105562); the asan preset finds the real ones.
  target_compile_options(
    flt_options
    INTERFACE
      $<$<COMPILE_LANGUAGE:CXX>:-Wno-maybe-uninitialized;-Wno-restrict;-Wno-array-bounds;-Wno-stringop-overflow;-Wno-stringop-overread>
  )
else()
  # clang runs the fuzzers and checks how locks are used; loop hints are written for g++, and
  # lambdas in templates capture what some instances of them do not use.
  target_compile_options(
    flt_options
    INTERFACE
      $<$<COMPILE_LANGUAGE:CXX>:-Wthread-safety;-Wno-unknown-pragmas;-Wno-unused-lambda-capture>)
endif()

if(FLT_SANITIZE)
  target_compile_options(flt_options INTERFACE -fsanitize=${FLT_SANITIZE} -fno-omit-frame-pointer
                                               -fno-sanitize-recover=all)
  target_link_options(flt_options INTERFACE -fsanitize=${FLT_SANITIZE})
  if(FLT_SANITIZE MATCHES "fuzzer")
    target_compile_options(flt_options INTERFACE -fsanitize-ignorelist=../../tests/fuzz/ignore.txt)
  endif()
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    # The checks that sanitizers insert lead g++ to see uninitialised values where there are none.
    target_compile_options(flt_options INTERFACE -Wno-maybe-uninitialized)
  endif()
endif()
# flt_leave_out(<sanitizer> <sources>): these are compiled without it, and so without precompiled
# headers, which are for sources with the same flags.
function(flt_leave_out sanitizer)
  set_property(SOURCE ${ARGN} APPEND PROPERTY COMPILE_OPTIONS -fno-sanitize=${sanitizer})
  set_source_files_properties(${ARGN} PROPERTIES SKIP_PRECOMPILE_HEADERS ON)
endfunction()

# flt_unseen_by_tsan(<sources>): for those around libgrpc. tsan does not see the locks inside of it,
# and takes what its headers do for races.
function(flt_unseen_by_tsan)
  if(FLT_SANITIZE MATCHES "thread")
    flt_leave_out(thread ${ARGN})
  endif()
endfunction()

# flt_wraps(<sources>): for those that compute with the elements of tensors. These are the user's
# numbers: whole ones wrap around, and no address is made of them without a check. Every address is
# one that the allocator gave, aligned, and asan sees a null pointer that is followed: to check both
# again at each access costs a fifth of the time to compile and to run.
function(flt_wraps)
  if(FLT_SANITIZE MATCHES "undefined")
    flt_leave_out(signed-integer-overflow,null,alignment ${ARGN})
  endif()
endfunction()
# Only what is used is loaded: `import paddle` counts in milliseconds.
target_link_options(flt_options INTERFACE -Wl,--as-needed)

# tsan cannot see into libgomp, so there parallel_for stands on std::thread. clang, which builds
# the fuzzers, comes without OpenMP.
if(FLT_SANITIZE MATCHES "thread|fuzzer")
  target_compile_definitions(flt_options INTERFACE FLT_TSAN)
  if(FLT_SANITIZE MATCHES "thread")
    # OpenMP and gRPC bring it elsewhere, and a precompiled header is for sources with the same flags.
    target_compile_options(flt_options INTERFACE -pthread)
  endif()
else()
  find_package(OpenMP REQUIRED)
  target_link_libraries(flt_options INTERFACE OpenMP::OpenMP_CXX)
endif()

# A folder of headers is a library too, and a precompiled header needs a source to belong to.
set(FLT_EMPTY ${CMAKE_BINARY_DIR}/generated/empty.cc)
file(CONFIGURE OUTPUT ${FLT_EMPTY} CONTENT "")

# What most sources include is read once for all folders: there are hundreds, and it is more to
# read than most of them. Headers of our own must not be among them: ccache gives what was made of
# them in another clone, where "#pragma once" means another file. ccache asks for the flag. The
# fuzzers do without: clang takes such a header only with the flags it was made with, and gRPC adds
# one.
set(FLT_PRECOMPILED <fmt/format.h> <algorithm> <chrono> <cmath> <functional> <map> <memory>
                    <optional> <span> <string> <thread> <vector>)
target_compile_options(flt_options INTERFACE $<$<COMPILE_LANG_AND_ID:CXX,GNU>:-fpch-preprocess>)
add_library(flt_precompiled OBJECT ${FLT_EMPTY})
target_link_libraries(flt_precompiled PRIVATE flt_options)
target_precompile_headers(flt_precompiled PRIVATE ${FLT_PRECOMPILED})

# Debian's own package file for oneDNN asks for OpenCL, which nothing here uses.
find_path(FLT_DNNL_INCLUDE oneapi/dnnl/dnnl.hpp REQUIRED)
find_library(FLT_DNNL_LIBRARY dnnl REQUIRED)
add_library(flt_dnnl INTERFACE)
target_include_directories(flt_dnnl SYSTEM INTERFACE ${FLT_DNNL_INCLUDE})
target_link_libraries(flt_dnnl INTERFACE ${FLT_DNNL_LIBRARY})

foreach(linker mold lld)
  find_program(FLT_LINKER_${linker} NAMES ${linker} ld.${linker})
  if(FLT_LINKER_${linker})
    check_linker_flag(CXX -fuse-ld=${linker} FLT_LINKS_WITH_${linker})
    if(FLT_LINKS_WITH_${linker})
      add_link_options(-fuse-ld=${linker})
      break()
    endif()
  endif()
endforeach()

if(FLT_CUDA)
  include(cmake/cuda.cmake)
endif()

# All folders together. SHARED, because in a static library the operators that register themselves
# would be dropped.
add_library(flotilla SHARED)
target_link_libraries(flotilla PUBLIC fmt::fmt PRIVATE flt_options)
target_compile_features(flotilla PUBLIC cxx_std_20)
if(NOT FLT_SANITIZE)
  target_link_options(flotilla PRIVATE -Wl,--no-undefined)
endif()
target_include_directories(flotilla INTERFACE $<BUILD_INTERFACE:${CMAKE_SOURCE_DIR}>
                                              $<INSTALL_INTERFACE:include>)

# What programs inside this repository link: the library with the headers of all that it stands on.
add_library(flt_inside INTERFACE)
target_link_libraries(flt_inside INTERFACE flotilla flt_options)
if(FLT_CUDA)
  set_target_properties(flotilla PROPERTIES LINKER_LANGUAGE CXX)
endif()

# flt_protos(<target> [GRPC]): compiles the folder's *.proto files into `target`, with their
# services where GRPC is said.
function(flt_protos target)
  set(made .pb)
  if("GRPC" IN_LIST ARGN)
    find_program(FLT_GRPC_PLUGIN grpc_cpp_plugin REQUIRED)
    set(services --grpc_out=${CMAKE_BINARY_DIR}/generated
                 --plugin=protoc-gen-grpc=${FLT_GRPC_PLUGIN})
    list(APPEND made .grpc.pb)
  endif()
  file(GLOB protos CONFIGURE_DEPENDS *.proto)
  foreach(proto IN LISTS protos)
    file(RELATIVE_PATH path ${CMAKE_SOURCE_DIR} ${proto})
    string(REGEX REPLACE "\\.proto$" "" stem ${CMAKE_BINARY_DIR}/generated/${path})
    list(TRANSFORM made PREPEND ${stem} OUTPUT_VARIABLE files)
    list(TRANSFORM files APPEND .cc OUTPUT_VARIABLE sources)
    list(TRANSFORM files APPEND .h OUTPUT_VARIABLE headers)
    add_custom_command(
      OUTPUT ${sources} ${headers}
      COMMAND protobuf::protoc -I ${CMAKE_SOURCE_DIR} --cpp_out=${CMAKE_BINARY_DIR}/generated
              ${services} ${path}
      WORKING_DIRECTORY ${CMAKE_SOURCE_DIR}
      DEPENDS ${proto}
      COMMENT "protoc ${path}")
    set_source_files_properties(${sources} PROPERTIES COMPILE_OPTIONS -w)
    flt_unseen_by_tsan(${sources})
    target_sources(${target} PRIVATE ${sources} ${headers})
  endforeach()
  target_link_libraries(${target} PUBLIC protobuf::libprotobuf)
  target_link_libraries(flt_inside INTERFACE protobuf::libprotobuf)
endfunction()

# flt_tests(<folder> <files>): the folder's test binary.
function(flt_tests name)
  if(NOT BUILD_TESTING OR NOT ARGN)
    return()
  endif()
  add_executable(${name}_test ${ARGN})
  target_link_libraries(${name}_test PRIVATE flt_testing flt_inside GTest::gmock_main)
  target_precompile_headers(${name}_test REUSE_FROM flt_testing) # gmock costs seconds per file
  # Of what happens inside of libraries that were compiled without it, tsan sees only a part.
  set(leaks suppressions=${PROJECT_SOURCE_DIR}/cmake/lsan_suppressions.txt)
  set(races suppressions=${PROJECT_SOURCE_DIR}/cmake/tsan_suppressions.txt)
  # Far more than any test takes on a busy machine: the limit is for those that are stuck.
  gtest_discover_tests(
    ${name}_test TEST_PREFIX ${name}. DISCOVERY_MODE PRE_TEST PROPERTIES
    TIMEOUT 1800 ENVIRONMENT TSAN_OPTIONS=ignore_noninstrumented_modules=1:${races}
                 ENVIRONMENT_MODIFICATION LSAN_OPTIONS=set:${leaks})
endfunction()

# flt_sources(): the caller's `sources`, `tests` and `kernels`, by what lies in its folder. What
# stands in a folder named cuda or nccl is built only with FLT_CUDA.
macro(flt_sources)
  file(GLOB_RECURSE sources RELATIVE ${CMAKE_CURRENT_SOURCE_DIR} CONFIGURE_DEPENDS *.cc)
  file(GLOB_RECURSE kernels RELATIVE ${CMAKE_CURRENT_SOURCE_DIR} CONFIGURE_DEPENDS *.cu)
  if(NOT FLT_CUDA)
    list(FILTER sources EXCLUDE REGEX "(^|/)(cuda|nccl)/")
    set(kernels "")
  endif()
  set(tests ${sources})
  list(FILTER tests INCLUDE REGEX "_test\\.cc$")
  list(FILTER sources EXCLUDE REGEX "_test\\.cc$")
endmacro()

# flt_library(<folder> [PROTO | GRPC] DEPS <folders> LINK <targets>)
#
# One folder, one object library, one test binary. Sources and tests are globbed, so a file that
# exists is a file that is built.
function(flt_library name)
  cmake_parse_arguments(ARG "PROTO;GRPC" "" "DEPS;LINK" ${ARGN})
  flt_sources()

  list(FIND FLT_FOLDERS ${name} position)
  foreach(dep IN LISTS ARG_DEPS)
    list(FIND FLT_FOLDERS ${dep} dep_position)
    if(dep_position EQUAL -1 OR dep_position GREATER_EQUAL position)
      message(
        FATAL_ERROR "${name} may not depend on ${dep}: it does not come earlier in FLT_FOLDERS")
    endif()
  endforeach()

  add_library(flt_${name} OBJECT ${FLT_EMPTY} ${sources} ${kernels})
  target_link_libraries(flt_${name} PUBLIC flt_options ${ARG_LINK})
  target_precompile_headers(flt_${name} REUSE_FROM flt_precompiled)
  # Only these see CUDA's headers: all else is compiled as in every preset, and comes from ccache.
  set(of_cuda ${sources} ${tests})
  list(FILTER of_cuda INCLUDE REGEX "(^|/)(cuda|nccl)/")
  if(of_cuda)
    flt_sees_cuda(${of_cuda})
  endif()
  if(kernels OR of_cuda)
    target_link_libraries(flotilla PRIVATE CUDA::cudart)
  endif()
  if(ARG_GRPC)
    flt_protos(flt_${name} GRPC)
  elseif(ARG_PROTO)
    flt_protos(flt_${name})
  endif()
  foreach(dep IN LISTS ARG_DEPS ITEMS base)
    if(TARGET flt_${dep} AND NOT dep STREQUAL name)
      target_link_libraries(flt_${name} PUBLIC flt_${dep})
    endif()
  endforeach()
  target_link_libraries(flotilla PRIVATE flt_${name})
  target_link_libraries(flt_inside INTERFACE ${ARG_LINK})
  flt_tests(${name} ${tests})
endfunction()

# flt_testing_library(): flotilla/testing, which only test binaries link. An object library, for
# the sake of the toy operators that register themselves; it may use every folder.
function(flt_testing_library)
  if(NOT BUILD_TESTING)
    return()
  endif()
  flt_sources()
  add_library(flt_testing OBJECT ${FLT_EMPTY} ${sources})
  target_link_libraries(flt_testing PUBLIC flt_inside GTest::gmock)
  if(FLT_CUDA)
    set(of_cuda ${sources} ${tests})
    list(FILTER of_cuda INCLUDE REGEX "(^|/)cuda/")
    flt_sees_cuda(${of_cuda})
    target_link_libraries(flt_testing PUBLIC $<LINK_ONLY:CUDA::cudart>)
    set_source_files_properties(check_op.cc PROPERTIES COMPILE_DEFINITIONS FLT_CUDA)
  endif()
  # All users of one precompiled header need the same -fPIC. Tests spend their time in the library:
  # to optimize them costs more than it saves.
  target_compile_options(flt_testing PUBLIC -fPIC -O1)
  target_precompile_headers(flt_testing PRIVATE <gmock/gmock.h> <gtest/gtest.h> ${FLT_PRECOMPILED})
  flt_tests(testing ${tests})
endfunction()
