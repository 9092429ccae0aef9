// Package rules holds the rules of this repository as tests: which package may import which, and what no file may have.
// Nothing imports it.
package rules
