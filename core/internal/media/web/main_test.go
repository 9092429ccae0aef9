package web_test

import (
	"fmt"
	"os"
	"runtime/debug"
	"slices"
	"testing"

	"github.com/clawhost/clawhost/core/internal/media/web"
)

// TestMain reads a page if the test binary is executed for that, as the host's own program does.
func TestMain(m *testing.M) {
	if len(os.Args) == 2 && os.Args[1] == web.PageCommand {
		var memory int64 = web.PageMemory
		if raceDetected() {
			memory = 2 << 30
		}
		if err := web.ReadPageWithin(os.Stdin, os.Stdout, web.PageCPU, memory); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	os.Exit(m.Run())
}

// raceDetected reports whether the binary has the race detector, which takes much time and memory.
func raceDetected() bool {
	info, ok := debug.ReadBuildInfo()
	return ok && slices.Contains(info.Settings, debug.BuildSetting{Key: "-race", Value: "true"})
}
