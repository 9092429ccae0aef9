// Package rules holds the rules of this repository as tests: which package may import which, what no file may have, and that
// each behaviour of the docs is named by a test. Nothing imports it.
package rules
