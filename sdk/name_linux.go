package sdk

import (
	"fmt"
	"os"
	"path/filepath"
)

// nameProcess gives the process the name of its program, as `ps` and `top` show it: the host runs plugins from a copy in
// memory, which has a number for a name.
func nameProcess() error {
	pid := os.Getpid()
	return os.WriteFile(fmt.Sprintf("/proc/%d/task/%d/comm", pid, pid), []byte(filepath.Base(os.Args[0])), 0)
}
