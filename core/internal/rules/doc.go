// Package rules holds the rules of this repository as tests: which package may import which, what no file may have, and that
// the tests are there that the pages name as proofs. Nothing imports it.
package rules
