package scripts_test

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclwrite"
)

// configure writes the configs of a script: its own, or else the usual one, and in each what all have unless they say otherwise.
// So a script states only what it is about.
func configure(dir string) error {
	usual, err := os.ReadFile(filepath.Join("testdata", "defaults.hcl"))
	if err != nil {
		return fmt.Errorf("read the defaults of scripts: %w", err)
	}
	paths, err := filepath.Glob(filepath.Join(dir, "*.hcl"))
	if err != nil {
		return err
	}
	from := map[string]string{filepath.Join(dir, "config.hcl"): filepath.Join("testdata", "config.hcl")}
	for _, path := range paths {
		from[path] = path
	}
	for to, path := range from {
		config, err := os.ReadFile(path)
		if err != nil {
			return fmt.Errorf("read a script's config: %w", err)
		}
		if err := os.WriteFile(to, filled(config, usual), 0o600); err != nil {
			return fmt.Errorf("write a script's config: %w", err)
		}
	}
	return nil
}

// filled is a config with the attributes of usual that its blocks do not have. One that cannot be read stays as it is: the host
// says what is wrong with it.
func filled(config, usual []byte) []byte {
	file, problems := hclwrite.ParseConfig(config, "", hcl.InitialPos)
	more, worse := hclwrite.ParseConfig(usual, "", hcl.InitialPos)
	if problems.HasErrors() || worse.HasErrors() {
		return config
	}
	for _, block := range more.Body().Blocks() {
		own := file.Body().FirstMatchingBlock(block.Type(), block.Labels())
		if own == nil {
			own = file.Body().AppendNewBlock(block.Type(), block.Labels())
		}
		attributes := block.Body().Attributes()
		for _, name := range slices.Sorted(maps.Keys(attributes)) {
			if own.Body().GetAttribute(name) == nil {
				own.Body().SetAttributeRaw(name, attributes[name].Expr().BuildTokens(nil))
			}
		}
	}
	return file.Bytes()
}

func TestFilled(t *testing.T) {
	t.Parallel()
	const usual = "inbound {\n  debounce = \"0\"\n}\nqueue {\n  debounce = \"0\"\n}\nlog {\n  level = \"debug\"\n}\n"
	const config = "queue {\n  mode     = \"collect\"\n}\ninbound {\n  debounce = \"1s\"\n}\n"
	const want = "queue {\n  mode     = \"collect\"\n  debounce = \"0\"\n}\ninbound {\n  debounce = \"1s\"\n}\nlog {\n  level = \"debug\"\n}\n"
	if got := string(hclwrite.Format(filled([]byte(config), []byte(usual)))); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}
