// Package e2e tests clawhost with the real claude CLI, against a Messages API on loopback. Its tests have the build tag
// e2e and are run by "make e2e", which installs the CLI and names it in CLAWHOST_CLAUDE.
package e2e
