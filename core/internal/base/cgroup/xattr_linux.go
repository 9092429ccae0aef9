package cgroup

import "golang.org/x/sys/unix"

func getxattr(path, name string, value []byte) (int, error) { return unix.Getxattr(path, name, value) }
