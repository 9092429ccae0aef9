// Command diary is a plugin with a file of its own, which is deleted when somebody is forgotten. It then says whom it
// forgets, and whether a host could start meanwhile.
package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/clawhost/clawhost/sdk"
)

type config struct {
	Text string `json:"text"`
}

type diary struct{}

func main() {
	sdk.Serve("diary", "1.0.0", sdk.Service(func(_ context.Context, env sdk.Env, c config) (diary, error) {
		return diary{}, os.WriteFile(filepath.Join(env.StateDir, "diary"), []byte(c.Text), 0o600)
	}))
}

// Forget implements [sdk.Forgetter].
func (config) Forget(_ context.Context, p sdk.Person) (left []string, err error) {
	var ids []string
	for _, u := range p.Users {
		ids = append(ids, u.Channel+":"+string(u.ID))
	}
	lock, err := os.Open(filepath.Join(p.StateDir, "../../clawhost.db.lock"))
	if err != nil {
		return nil, err
	}
	defer lock.Close()
	start := syscall.Flock(int(lock.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	return []string{fmt.Sprintf("%s forgets %s (%s); to start a host: %v", p.Instance, strings.Join(ids, " "), strings.Join(p.Names, " "), start)},
		os.Remove(filepath.Join(p.StateDir, "diary"))
}
