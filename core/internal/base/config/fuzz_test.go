package config_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/clawhost/clawhost/core/internal/base/config"
)

// Whatever stands around a plugin block, Load ends, names places that exist and does not tell the block's secret.
func FuzzLoad(f *testing.F) {
	const secret = "hush-4711"
	const block = "\nplugin \"p\" {\n  config {\n    password = \"" + secret + "\"\n  }\n}\n"
	shipped, err := os.ReadFile("../../../../config.hcl")
	if err != nil {
		f.Fatal(err)
	}
	for _, seed := range [][2]string{
		{"", ""},
		{string(shipped), ""},
		{"agent {\n  name = \"", "\"\n}"},
		{"reply {\n  typing = <<EOT\n", "EOT\n}"},
		{"access {\n  owners = [env(\"A\"), \"x:1\", 5, null]\n  group \"g\" {}\n}", "}"},
		{"claude {\n  env = { a = [for x in [1]: x] }\n  args = [\"-p\"]\n  timeout = \"${1/0}s\"\n}", "agent \"x\" { name = \"y\" }"},
		{"/*", "*/"},
		{"plugin \"q\" {\n", "}"},
		{"session {\n  daily_reset = \"4:0\"\n  reset \"group\" {\n    idle = null\n  }\n}", "send {\n  rule {\n    policy = null\n  }\n  rule {}\n}"},
		{"access {\n  mention_patterns = [\"a(\", \"[[:x:]]\"]\n  group \"g\" {\n    history_limit = 1e9\n  }\n}", "heartbeat {\n  active = \"-\"\n}"},
		{"x = { y = ", "}"},
	} {
		f.Add(seed[0], seed[1])
	}
	path := filepath.Join(f.TempDir(), "config.hcl")
	f.Fuzz(func(t *testing.T, before, after string) {
		if strings.Contains(before+after, secret) || strings.Contains(before+after, "file") {
			t.Skip("the input itself holds the secret, or reads files")
		}
		text := before + block + after
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		_, err := config.Load(path, variables(nil))
		if err == nil {
			return
		}
		var problems config.Problems
		if !errors.As(err, &problems) || len(problems) == 0 {
			t.Fatalf("error %v is no list of problems", err)
		}
		lines := strings.Count(text, "\n") + 1
		for _, p := range problems {
			if p.Summary == "" || p.Column < 1 || p.Line < 1 || p.Line > lines {
				t.Errorf("problem %+v in a file of %d lines", p, lines)
			}
			if strings.Contains(p.String(), secret) {
				t.Errorf("the secret was shown: %v", p)
			}
		}
	})
}
