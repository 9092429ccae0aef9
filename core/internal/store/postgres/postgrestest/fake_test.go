package postgrestest

import (
	"fmt"
	"runtime"
	"testing"
)

// fakeTest is a test that may fail without the real one.
type fakeTest struct {
	testing.TB
	fails    bool
	fatal    string
	log      string
	cleanups []func()
}

func (f *fakeTest) Fatal(args ...any) {
	f.fatal = fmt.Sprint(args...)
	runtime.Goexit()
}

func (f *fakeTest) Failed() bool                    { return f.fails }
func (f *fakeTest) Logf(format string, args ...any) { f.log += fmt.Sprintf(format, args...) }
func (f *fakeTest) Cleanup(do func())               { f.cleanups = append(f.cleanups, do) }

func (f *fakeTest) end() {
	for _, do := range f.cleanups {
		do()
	}
}
