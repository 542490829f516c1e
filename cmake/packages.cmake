# Before anything is looked for: all Debian packages that are missing, in one sentence, instead of
# one CMake error after the other. Can be run by itself: cmake -P cmake/packages.cmake

set(FLT_NEEDED
    libfmt-dev=fmt/format.h
    libspdlog-dev=spdlog/spdlog.h
    libabsl-dev=absl/base/config.h
    libcli11-dev=CLI/CLI.hpp
    libdnnl-dev=oneapi/dnnl/dnnl.hpp
    libgloo-dev=gloo/context.h
    libprotobuf-dev=google/protobuf/message.h
    protobuf-compiler=protoc
    libgrpc++-dev=grpcpp/grpcpp.h
    protobuf-compiler-grpc=grpc_cpp_plugin
    librocksdb-dev=rocksdb/db.h
    libssl-dev=openssl/ssl.h
    zlib1g-dev=zlib.h
    libpng-dev=png.h
    libjpeg62-turbo-dev=jpeglib.h)
if(NOT DEFINED BUILD_TESTING OR BUILD_TESTING)
  list(APPEND FLT_NEEDED libgtest-dev=gtest/gtest.h libgmock-dev=gmock/gmock.h)
endif()

set(missing "")
foreach(need IN LISTS FLT_NEEDED)
  string(REGEX MATCH "^([^=]+)=(.+)$" matched ${need})
  set(package ${CMAKE_MATCH_1})
  set(file ${CMAKE_MATCH_2})
  if(file MATCHES "\\.")
    find_path(found ${file} PATHS /usr/include /usr/local/include NO_CACHE)
  else()
    find_program(found ${file} NO_CACHE)
  endif()
  if(NOT found)
    list(APPEND missing ${package})
  endif()
  unset(found)
endforeach()
if(missing)
  list(JOIN missing " " missing)
  message(FATAL_ERROR "Flotilla needs packages that are not installed. On Debian 12:\n"
                      "  apt-get install ${missing}\n")
endif()
