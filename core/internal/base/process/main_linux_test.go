package process_test

import (
	"fmt"
	"os"
	"os/exec"
	"testing"
)

// part is the variable that makes the test binary a process that plays a part of a test, as what it does to itself would
// disturb the other tests.
const part = "PROCESS_TEST_PART"

var parts = map[string]func() error{
	"adopts":              adopts,
	"without descriptors": withoutDescriptors,
	"seals":               seals,
	"closes":              closes,
	"family":              family,
	"again":               again,
	"says":                says,
	"spins":               spins,
	"grows":               grows,
	"writes":              writes,
	"lowers":              lowers,

	"again from a copy": againFromACopy,
	"again in a copy":   againInACopy,
}

func TestMain(m *testing.M) {
	if play := parts[os.Getenv(part)]; play != nil {
		if err := play(); err != nil {
			fmt.Println(err)
			os.Exit(1)
		}
		return
	}
	os.Exit(m.Run())
}

// apart plays a part in a process of its own, which inherits files.
func apart(t *testing.T, name string, files ...*os.File) {
	t.Helper()
	t.Parallel()
	cmd := exec.CommandContext(t.Context(), os.Args[0])
	cmd.Env = append(os.Environ(), part+"="+name)
	cmd.ExtraFiles = files
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
}
