// flotilla/base/cgroup.h
//
// Groups of processes that the kernel keeps (cgroup v2). Whatever a member starts is a member,
// though it leaves its process group, its session and its environment; so all of it can be ended.
//
// A group is named by its folder; "" stands for none, with which every function here does nothing.
// Nothing fails where groups may not be made: processes are then ended by other means.

#pragma once

#include <chrono>
#include <string>

namespace flotilla {

// The group that this process is in, as long as it may make others below it.
std::string own_cgroup();

// Makes a group below `above`, which has no limits and no members.
std::string make_cgroup(const std::string& above);

// To this file a process writes "0" to become a member.
std::string cgroup_entrance(const std::string& group);

// Kills the members of the group and of all groups below, and removes the groups. Gives up after
// `patience`: what is killed may take its time, and a process that waits for a disk does not end.
// REQUIRES: the caller is no member.
void end_cgroup(const std::string& group, std::chrono::milliseconds patience);

}  // namespace flotilla
