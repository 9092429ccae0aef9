package sdk

import (
	"fmt"
	"os"
	"path/filepath"
)

// nameProcess sets the process's name to that of its program, for `ps` and `top`: the host runs plugins from a copy in
// memory, whose name is a number.
func nameProcess() error {
	pid := os.Getpid()
	return os.WriteFile(fmt.Sprintf("/proc/%d/task/%d/comm", pid, pid), []byte(filepath.Base(os.Args[0])), 0)
}
