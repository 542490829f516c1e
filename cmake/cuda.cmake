# With FLT_CUDA: nvcc, and the headers and libraries of NVIDIA's that are used. Each is looked for
# where its installer puts it, then among the packages of the Pythons at hand, as these leave it:
#
#   pip install nvidia-cuda-nvcc nvidia-cuda-cccl nvidia-cublas nvidia-cudnn-cu13

# What a Python has installed. pip builds a wheel out of sight of it, so it is asked where that is.
set(FLT_PACKAGES "")
foreach(python IN ITEMS "${Python_EXECUTABLE}" ${CMAKE_SOURCE_DIR}/.venv/bin/python python3)
  execute_process(
    COMMAND
      "${python}" -c
      "import sys, sysconfig; print(*sys.path[1:], sysconfig.get_path('purelib'), sep=';', end='')"
    OUTPUT_VARIABLE found
    RESULT_VARIABLE failed
    ERROR_QUIET)
  if(NOT failed)
    list(APPEND FLT_PACKAGES ${found})
  endif()
endforeach()
list(FILTER FLT_PACKAGES INCLUDE REGEX "-packages$")
list(REMOVE_DUPLICATES FLT_PACKAGES)
set(FLT_WHEELS "")
foreach(folder IN LISTS FLT_PACKAGES)
  file(GLOB found ${folder}/nvidia/*)
  list(APPEND FLT_WHEELS ${found})
endforeach()

# flt_find_header(<variable> <header> <package>): the folder of a header, or what brings it.
function(flt_find_header variable header package)
  list(TRANSFORM FLT_WHEELS APPEND /include OUTPUT_VARIABLE folders)
  list(TRANSFORM FLT_PACKAGES APPEND /include OUTPUT_VARIABLE beside)
  find_path(${variable} ${header} HINTS ${CUDAToolkit_INCLUDE_DIRS} PATHS ${folders} ${beside})
  if(NOT ${variable})
    message(FATAL_ERROR "FLT_CUDA needs ${header}, which is not on this machine: "
                        "pip install ${package}")
  endif()
endfunction()

if(NOT CMAKE_CUDA_COMPILER AND NOT DEFINED ENV{CUDACXX})
  list(TRANSFORM FLT_WHEELS APPEND /bin OUTPUT_VARIABLE folders)
  find_program(CMAKE_CUDA_COMPILER nvcc PATHS /usr/local/cuda/bin ${folders})
  if(NOT CMAKE_CUDA_COMPILER)
    message(
      FATAL_ERROR
        "FLT_CUDA needs nvcc, which is not on this machine: install NVIDIA's CUDA "
        "toolkit, or pip install nvidia-cuda-nvcc nvidia-cuda-cccl nvidia-cublas "
        "nvidia-cudnn-cu13 nvidia-cudnn-frontend")
  endif()
endif()
# A package has its libraries in lib, where its nvcc does not look, and under the names that programs
# load, not those that linkers look for.
string(REGEX REPLACE "/bin/nvcc$" "" root "${CMAKE_CUDA_COMPILER}")
if(root IN_LIST FLT_WHEELS)
  set(ENV{LIBRARY_PATH} ${root}/lib:$ENV{LIBRARY_PATH})
  file(GLOB found ${root}/lib/libcudart.so.*)
  foreach(variable CUDA_CUDART CUDA_cudart_LIBRARY) # as CMake's module calls it
    set(${variable} ${found} CACHE FILEPATH "The runtime that programs share")
  endforeach()
endif()

if(NOT CMAKE_CUDA_ARCHITECTURES)
  set(CMAKE_CUDA_ARCHITECTURES 80 90)
endif()
# One CUDA runtime in a process: libflotilla.so and the tests that link it must share it.
set(CMAKE_CUDA_RUNTIME_LIBRARY Shared)
if(NOT CMAKE_CUDA_COMPILER_LAUNCHER)
  set(CMAKE_CUDA_COMPILER_LAUNCHER ${CMAKE_CXX_COMPILER_LAUNCHER})
endif()
enable_language(CUDA)
find_package(CUDAToolkit REQUIRED)
# CMake 3.25 does not know how nvcc is asked for C++20.
set(CMAKE_CUDA_STANDARD 20)
set(CMAKE_CUDA20_STANDARD_COMPILE_OPTION -std=c++20)
set(CMAKE_CUDA20_EXTENSION_COMPILE_OPTION -std=c++20)
target_compile_options(
  flt_options
  INTERFACE $<$<COMPILE_LANGUAGE:CUDA>:-Xcompiler=-Wall,-Wextra,-fno-semantic-interposition>
            $<$<COMPILE_LANGUAGE:CUDA>:-Werror=all-warnings;-lineinfo>)
# fmt 9 takes nvcc for a compiler without constexpr, and then does not compile as C++20.
target_compile_definitions(flt_options INTERFACE $<$<COMPILE_LANGUAGE:CUDA>:FMT_USE_CONSTEXPR=1>)

# Where an installed libflotilla finds NVIDIA's libraries: in the packages beside it, and where they
# were found when it was built.
set(FLT_CUDA_RPATH $ORIGIN/nvidia/cu13/lib $ORIGIN/nvidia/cudnn/lib ${CUDAToolkit_LIBRARY_DIR})

# flt_sees_cuda(<files>): compiles them with CUDA's headers.
function(flt_sees_cuda)
  set_source_files_properties(${ARGN} PROPERTIES INCLUDE_DIRECTORIES "${CUDAToolkit_INCLUDE_DIRS}")
endfunction()

# flt_sees_cudnn(<files>): compiles them with the headers of cuDNN and of its frontend, too, which
# are not written for our warnings. The libraries are loaded when they are first used.
function(flt_sees_cudnn)
  flt_find_header(FLT_CUDNN cudnn.h nvidia-cudnn-cu13)
  flt_find_header(FLT_CUDNN_FRONTEND cudnn_frontend.h nvidia-cudnn-frontend)
  set_property(SOURCE ${ARGN} APPEND PROPERTY COMPILE_OPTIONS -isystem${FLT_CUDNN}
                                              -isystem${FLT_CUDNN_FRONTEND})
endfunction()
