package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/clawhost/clawhost/core/internal/base/config"
)

// configVariable is the variable that names the config file where no flag does.
const configVariable = "CLAWHOST_CONFIG"

// errNoConfig is returned where no config file is named and none is in the usual places.
var errNoConfig = errors.New("there is no config file")

// place returns the path of the config file: that of -config, that of the variable, or the first of the usual ones that exists.
func (a *app) place() (string, error) {
	if a.config != "" {
		return a.config, nil
	}
	if path := os.Getenv(configVariable); path != "" {
		return path, nil
	}
	usual := usualPlaces()
	for _, path := range usual {
		if _, err := os.Stat(path); !errors.Is(err, fs.ErrNotExist) {
			return path, nil // whatever else is wrong with it is said when it is read
		}
	}
	return "", fmt.Errorf("%w: neither ./%s nor %s nor %s exists; write one with `clawhost init`, or name one with -config or $%s",
		errNoConfig, usual[0], usual[1], usual[2], configVariable)
}

// ignored returns the other config files in the usual places, where the one at path was found and not named.
func (a *app) ignored(path string) (list []string) {
	if a.config != "" || os.Getenv(configVariable) != "" {
		return nil
	}
	for _, p := range usualPlaces() {
		if _, err := os.Stat(p); err != nil || sameFile(p, path) {
			continue
		}
		if absolute, err := filepath.Abs(p); err == nil {
			p = absolute
		}
		list = append(list, p)
	}
	return list
}

// sameFile reports whether two paths lead to the same file.
func sameFile(a, b string) bool {
	one, err := os.Stat(a)
	other, failed := os.Stat(b)
	return err == nil && failed == nil && os.SameFile(one, other)
}

// usualPlaces are the paths of config files that need not be named, the first first.
func usualPlaces() []string {
	const name = "config.hcl"
	folder := os.Getenv("XDG_CONFIG_HOME")
	if folder == "" {
		folder = filepath.Join(os.Getenv("HOME"), ".config")
	}
	return []string{name, filepath.Join(folder, "clawhost", name), filepath.Join("/etc/clawhost", name)}
}

// variable returns how the config file looks up variables.
func (a *app) variable(path string) func(name string) (string, bool) {
	return config.Variables(path, os.LookupEnv)
}
