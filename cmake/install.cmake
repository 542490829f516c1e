# What is installed. For C++: the library, its headers, find_package(flotilla) and the binaries. In
# a wheel (SKBUILD): the module with the library beside it, and the binaries as scripts.

include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

if(FLT_CUDA)
  set_target_properties(flotilla PROPERTIES INSTALL_RPATH "${FLT_CUDA_RPATH}")
endif()

if(SKBUILD)
  set_target_properties(_flotilla PROPERTIES INSTALL_RPATH $ORIGIN)
  install(TARGETS _flotilla flotilla LIBRARY DESTINATION .)
  if(TARGET flt_cli)
    # From <prefix>/bin to the module, whichever of the usual places it was installed to.
    set(rpath "")
    foreach(place lib/${FLT_PYTHON_NAME}/site-packages lib64/${FLT_PYTHON_NAME}/site-packages
                  lib/${FLT_PYTHON_NAME}/dist-packages lib/python3/dist-packages)
      list(APPEND rpath $ORIGIN/../${place})
    endforeach()
    set_target_properties(flt_cli PROPERTIES INSTALL_RPATH "${rpath}")
    install(TARGETS flt_cli RUNTIME DESTINATION ${SKBUILD_SCRIPTS_DIR})
    # A wheel holds no links.
    install(CODE "file(COPY_FILE ${SKBUILD_SCRIPTS_DIR}/flotilla ${SKBUILD_SCRIPTS_DIR}/fleetrun)")
  endif()
  return()
endif()

# flt_headers(<header> <variable>): the header and all of ours that it includes, whoever does so.
function(flt_headers header variable)
  set(found)
  set(open ${header})
  while(open)
    list(POP_FRONT open next)
    if(NOT next IN_LIST found)
      list(APPEND found ${next})
      file(STRINGS ${next} lines REGEX "^#include \"flotilla/")
      list(TRANSFORM lines REPLACE "^#include \"(.*)\"$" "\\1")
      list(APPEND open ${lines})
      # What it includes may change.
      set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/${next})
    endif()
  endwhile()
  set(${variable} ${found} PARENT_SCOPE)
endfunction()

install(TARGETS flotilla EXPORT flotilla LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
# The table of docs/cpp.md is what flotilla.h includes; nothing else is public.
flt_headers(flotilla/flotilla.h headers)
foreach(header IN LISTS headers)
  get_filename_component(folder ${header} DIRECTORY)
  install(FILES ${header} DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/${folder})
endforeach()
install(EXPORT flotilla NAMESPACE flotilla:: FILE flotilla-targets.cmake
        DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/flotilla)
file(
  CONFIGURE
  OUTPUT
  ${CMAKE_BINARY_DIR}/flotilla-config.cmake
  @ONLY
  CONTENT
  [[include(CMakeFindDependencyMacro)
find_dependency(fmt)
include(${CMAKE_CURRENT_LIST_DIR}/flotilla-targets.cmake)
]])
write_basic_package_version_file(${CMAKE_BINARY_DIR}/flotilla-config-version.cmake
                                 COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_BINARY_DIR}/flotilla-config.cmake
              ${CMAKE_BINARY_DIR}/flotilla-config-version.cmake
        DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/flotilla)

if(TARGET flt_cli)
  set_target_properties(flt_cli PROPERTIES INSTALL_RPATH $ORIGIN/../${CMAKE_INSTALL_LIBDIR})
  install(TARGETS flt_cli RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
  install(CODE "file(CREATE_LINK flotilla
    $ENV{DESTDIR}\${CMAKE_INSTALL_PREFIX}/${CMAKE_INSTALL_BINDIR}/fleetrun SYMBOLIC)")
endif()
